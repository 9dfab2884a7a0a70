// The table of Xids, and the lines in which the kernel's log has them.
#include "kernels/check/xid.h"

#include <stdio.h>
#include <string.h>

static const struct range {
    uint64_t first, last;
    enum xid_meaning meaning;
} ranges[] = {
    {13, 13, XID_APPLICATION},   // graphics engine exception
    {31, 31, XID_APPLICATION},   // memory page fault
    {43, 43, XID_APPLICATION},   // stopped processing
    {45, 45, XID_APPLICATION},   // cleanup of a killed program
    {48, 48, XID_WORKFLOW},      // double bit ECC error
    {68, 68, XID_APPLICATION},   // video processor exception
    {74, 74, XID_WORKFLOW},      // NVLink error
    {79, 79, XID_REBOOT},        // fallen off the bus
    {109, 109, XID_APPLICATION}, // context switch timeout
    {144, 150, XID_WORKFLOW},    // NVLink 5
};

enum xid_meaning xid_meaning(uint64_t number)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (number >= ranges[i].first && number <= ranges[i].last)
            return ranges[i].meaning;
    return XID_UNKNOWN;
}

const char *xid_meaning_text(enum xid_meaning meaning)
{
    static const char *const texts[] = {"unknown", "application", "workflow", "reboot"};
    return texts[meaning];
}

bool xid_parse(const char *record, struct xid_event *event)
{
    unsigned long long us = 0;
    const char *text = strchr(record, ';');
    if (text == NULL || sscanf(record, "%*u,%*u,%llu", &us) != 1)
        return false;
    event->at_us = us;
    text = strstr(text, "NVRM: Xid (PCI:");
    return text != NULL && sscanf(text, "NVRM: Xid (PCI:%31[0-9a-fA-F:]): %u",
                                  event->bus_id, &event->number) == 2;
}

bool xid_is_worse(const struct xid_event *a, const struct xid_event *b)
{
    enum xid_meaning x = xid_meaning(a->number), y = xid_meaning(b->number);
    return x != y ? x > y : a->at_us > b->at_us;
}
