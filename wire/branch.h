// The links of one vertex to its children: dialed, retried, attached, relayed.
//
// Launcher (vertex 0) and every inner agent own one branch. For each child:
//   WAITING -> DIALING -> ATTACHED -> GONE, and DIALING -> WAITING (retry with back-off)
//   or -> GONE when trying again cannot help (wrong key, other version, refused) or the
//   deadline of Attach.connect_ms is over.
//   branch_exchange(): any -> WAITING, for another member; branch_redial(): GONE, WAITING or DIALING -> WAITING; then every failure is one to try
//   again after, as another pod may come to the address.
// Whose host name is not the one that Attach expects is refused: a failed try ("OTHER_POD"),
// for its address may be told anew, or be the right pod's again.
// A child that is attached has got the same Attach body with its own vertex as dst, and
// answers for its subtree: its ATTACHED and LOST frames come through frame().
#ifndef MUSTER_WIRE_BRANCH_H
#define MUSTER_WIRE_BRANCH_H

#include "wire/link.h"
#include "wire/tree.h"

struct branch;
struct via;

struct branch_ops {
    // A frame from the subtree below: of this job and term, and its src lies in the
    // subtree of the child that sent it. Others are dropped.
    void (*frame)(void *arg, const struct frame *f);
    // A direct child greeted and was attached.
    void (*attached)(void *arg, uint32_t vertex, const Muster__Hello *hello);
    // A direct child could not be reached. final: no further try is made.
    void (*missing)(void *arg, uint32_t vertex, const struct err *why, bool final);
    // An attached child is gone and its whole subtree is out of reach. why->kind is
    // "CLOSED" when it left in order, "GONE" when its program has surely ended.
    void (*lost)(void *arg, uint32_t vertex, const struct err *why);
    // Both may be NULL: an attached child lost its connection and stays attached while it
    // may come back (link.h); it has come back.
    void (*broken)(void *arg, uint32_t vertex, const struct err *why);
    void (*resumed)(void *arg, uint32_t vertex);
};

struct branch_conf {
    struct link_conf link; // for each child
    struct tree tree;
    uint32_t self;                // own vertex
    const Muster__Attach *attach; // borrowed, outlives the branch
    uint64_t job;
    uint32_t term;
    const struct via *via; // borrowed; how to reach members without a listening agent,
                           // made of attach->via; NULL: agents listen
};

// Starts dialing all children that have an address in attach->members. Callbacks come
// from the loop only.
struct branch *branch_create(const struct branch_conf *conf,
                             const struct branch_ops *ops, void *arg);
// The child `vertex` is reached over these fds (taken over) instead of being dialed; it
// must not be attached. Also from inside missing() for that child.
void branch_adopt(struct branch *b, uint32_t vertex, int in, int out);
// Dial the child at the address that attach has now, unless it is attached and connected. A
// child that was lost is dialed until the branch ends. One whose program has ended, so it
// seems (link_seems_gone), is lost() first: it has another address, and is not waited for.
void branch_redial(struct branch *b, uint32_t vertex);
// Attach has another member at the vertex now: who was there is let go without a word (no
// lost() comes), and that member is dialed as one that was lost.
void branch_exchange(struct branch *b, uint32_t vertex);
// The owner has another term now: it stands in what is sent from now on.
void branch_set_term(struct branch *b, uint32_t term);
// Down the tree: to every attached child for dst TREE_ALL, else towards dst. Returns -1
// when the child on the way is not attached (the frame is dropped).
int branch_send(struct branch *b, const struct frame *f);
int branch_send_msg(struct branch *b, const struct frame *f,
                    const ProtobufCMessage *msg);
// Say BYE on all links; lost() comes for each. Children that were never attached are
// given up silently.
void branch_close(struct branch *b);
// Inside lost(): for how long the child had said nothing (link_silent_ms).
uint64_t branch_silent_ms(const struct branch *b, uint32_t vertex);
// Inside lost(): was its end of the connection closed (link_hung_up)?
bool branch_hung_up(const struct branch *b, uint32_t vertex);
// Children that are attached (also while they close).
uint32_t branch_attached(const struct branch *b);
void branch_destroy(struct branch *b); // NULL-safe; also from inside a callback

#endif
