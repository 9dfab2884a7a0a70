// `musterd keeper [--debug] [--pmixd PATH]`: what an agent starts for each attempt.
#ifndef MUSTER_AGENT_KEEPER_MAIN_H
#define MUSTER_AGENT_KEEPER_MAIN_H

// argv[0] is "keeper". fd 3 is a socket to the agent; with --pmixd fd 4 is the PMIx
// server's end of its own socket to the agent: PATH is started with it as fd 3. When it
// cannot be started, one line says why and that socket closes. --debug logs each change
// of state. Returns the exit code.
int keeper_main(int argc, char **argv);

#endif
