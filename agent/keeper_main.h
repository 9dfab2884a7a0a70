// `musterd keeper [--debug] [--pmixd PATH] [--pmi]`: what an agent starts for each attempt,
// or before one comes (warm.h).
#ifndef MUSTER_AGENT_KEEPER_MAIN_H
#define MUSTER_AGENT_KEEPER_MAIN_H

// argv[0] is "keeper". fd 3 is a socket to the agent; with --pmixd fd 4 is the PMIx
// server's end of its own socket to the agent: PATH is started with it as fd 3. When it
// cannot be started, one line says why and that socket closes. With --pmi fd 5 is a socket
// that the ranks' PMI sockets come over (rank_fds.h). --debug logs each change of state.
// Returns the exit code.
int keeper_main(int argc, char **argv);

#endif
