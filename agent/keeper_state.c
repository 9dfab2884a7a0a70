// The tables: for each state the state that each event leads to.
#include "agent/keeper_state.h"

struct step {
    enum keeper_event event;
    enum keeper_state to;
};

enum { STEPS_MAX = 6 };

// Events that are not listed change nothing. A row ends with a step to itself.
static const struct step steps[KEEPER_STATES][STEPS_MAX + 1] = {
    [KEEPER_WARM] = {{KEEPER_SPAWNED, KEEPER_RUNNING},
                     {KEEPER_SPAWN_FAILED, KEEPER_CLEARING},
                     {KEEPER_ASK, KEEPER_ENDING},
                     {KEEPER_STOP, KEEPER_ENDING},
                     {KEEPER_STOP_NOW, KEEPER_KILLING},
                     {KEEPER_AGENT_GONE, KEEPER_ORPHANED},
                     {0, KEEPER_WARM}},
    [KEEPER_RUNNING] = {{KEEPER_ASK, KEEPER_ASKING},
                        {KEEPER_STOP, KEEPER_ENDING},
                        {KEEPER_STOP_NOW, KEEPER_KILLING},
                        {KEEPER_AGENT_GONE, KEEPER_ORPHANED},
                        {0, KEEPER_RUNNING}},
    [KEEPER_CLEARING] = {{KEEPER_EMPTY, KEEPER_SPENT},
                         {KEEPER_GIVE_UP, KEEPER_SPENT},
                         {KEEPER_ASK, KEEPER_KILLING},
                         {KEEPER_STOP, KEEPER_KILLING},
                         {KEEPER_STOP_NOW, KEEPER_KILLING},
                         {KEEPER_AGENT_GONE, KEEPER_ORPHANED},
                         {0, KEEPER_CLEARING}},
    [KEEPER_SPENT] = {{KEEPER_ASK, KEEPER_ENDING},
                      {KEEPER_STOP, KEEPER_ENDING},
                      {KEEPER_STOP_NOW, KEEPER_KILLING},
                      {KEEPER_AGENT_GONE, KEEPER_ORPHANED},
                      {0, KEEPER_SPENT}},
    [KEEPER_ASKING] = {{KEEPER_ANSWERED, KEEPER_ENDING},
                       {KEEPER_GRACE_OVER, KEEPER_ENDING},
                       {KEEPER_STOP, KEEPER_ENDING},
                       {KEEPER_STOP_NOW, KEEPER_KILLING},
                       {KEEPER_AGENT_GONE, KEEPER_ORPHANED},
                       {0, KEEPER_ASKING}},
    [KEEPER_ENDING] = {{KEEPER_STOP_NOW, KEEPER_KILLING},
                       {KEEPER_GRACE_OVER, KEEPER_KILLING},
                       {KEEPER_EMPTY, KEEPER_DRAINING},
                       {KEEPER_AGENT_GONE, KEEPER_ORPHANED},
                       {0, KEEPER_ENDING}},
    [KEEPER_KILLING] = {{KEEPER_EMPTY, KEEPER_DRAINING},
                        {KEEPER_GIVE_UP, KEEPER_DRAINING},
                        {KEEPER_AGENT_GONE, KEEPER_ORPHANED},
                        {0, KEEPER_KILLING}},
    [KEEPER_DRAINING] = {{KEEPER_DRAINED, KEEPER_STOPPED},
                         {KEEPER_AGENT_GONE, KEEPER_ORPHANED},
                         {0, KEEPER_DRAINING}},
    [KEEPER_STOPPED] = {{KEEPER_AGENT_GONE, KEEPER_ORPHANED}, {0, KEEPER_STOPPED}},
    [KEEPER_ORPHANED] = {{KEEPER_EMPTY, KEEPER_OVER},
                         {KEEPER_GIVE_UP, KEEPER_OVER},
                         {0, KEEPER_ORPHANED}},
    [KEEPER_OVER] = {{0, KEEPER_OVER}},
};

enum keeper_state keeper_state_next(enum keeper_state state, enum keeper_event event)
{
    for (const struct step *s = steps[state]; s->to != state; s++)
        if (s->event == event)
            return s->to;
    return state;
}

const char *keeper_state_name(enum keeper_state state)
{
    static const char *const names[KEEPER_STATES] = {
        "WARM",    "RUNNING",  "CLEARING", "SPENT",    "ASKING", "ENDING",
        "KILLING", "DRAINING", "STOPPED",  "ORPHANED", "OVER"};
    return names[state];
}

const char *keeper_event_name(enum keeper_event event)
{
    static const char *const names[KEEPER_EVENTS] = {
        "SPAWNED",    "SPAWN_FAILED", "ASK",     "STOP",    "STOP_NOW",  "ANSWERED",
        "GRACE_OVER", "EMPTY",        "GIVE_UP", "DRAINED", "AGENT_GONE"};
    return names[event];
}

enum rank_state rank_state_next(enum rank_state state, enum rank_event event)
{
    static const enum rank_state table[RANK_STATES][RANK_EVENTS] = {
        [RANK_RUNNING] = {[RANK_EXIT] = RANK_EXITED, [RANK_OUTPUT_END] = RANK_SILENT},
        [RANK_SILENT] = {[RANK_EXIT] = RANK_DONE, [RANK_OUTPUT_END] = RANK_SILENT},
        [RANK_EXITED] = {[RANK_EXIT] = RANK_EXITED, [RANK_OUTPUT_END] = RANK_DONE},
        [RANK_DONE] = {[RANK_EXIT] = RANK_DONE, [RANK_OUTPUT_END] = RANK_DONE},
    };
    return table[state][event];
}
