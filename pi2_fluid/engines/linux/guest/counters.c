/* What the kernel counts at the queue, as `tc -s qdisc` shows it, undecoded; and what flows say of themselves. */
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "guest.h"

enum { LEAF = 0x10001, OWN_BYTES = 64, TCP = 6, INFO = 11 /* TCP_INFO */ };

struct queue_record {
    double at;
    struct gnet_stats_queue counters;
    uint32_t records;
    uint64_t bytes;
    uint32_t packets, said;
    uint8_t own[OWN_BYTES];
} __attribute__((packed));

struct flow_record {
    float at;
    uint32_t flow, window, rtt, retransmissions, timeouts;
    uint64_t acknowledged;
};

static void read_counters(const struct rtattr *from, struct queue_record *row)
{
    int size = RTA_PAYLOAD(from);
    for (const struct rtattr *at = RTA_DATA(from); RTA_OK(at, size); at = RTA_NEXT(at, size)) {
        const size_t bytes = RTA_PAYLOAD(at);
        if (at->rta_type == TCA_STATS_QUEUE && bytes >= sizeof row->counters)
            memcpy(&row->counters, RTA_DATA(at), sizeof row->counters);
        if (at->rta_type == TCA_STATS_BASIC && bytes >= 12) {
            memcpy(&row->bytes, RTA_DATA(at), sizeof row->bytes);
            memcpy(&row->packets, (const char *)RTA_DATA(at) + sizeof row->bytes, sizeof row->packets);
        }
        if (at->rta_type == TCA_STATS_APP) {
            row->said = (uint32_t)(bytes < OWN_BYTES ? bytes : OWN_BYTES);
            memcpy(row->own, RTA_DATA(at), row->said);
        }
    }
}

/* The index of the queue's device in the router. */
static int queue_index(void)
{
    static int index;
    if (!index) {
        enter(ROUTER);
        index = (int)if_nametoindex("r_d");
    }
    return index;
}

void sample_queue(double at)
{
    const struct {
        struct nlmsghdr head;
        struct tcmsg about;
    } question = {
        {sizeof question, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO, 0, 0},
        {.tcm_family = AF_UNSPEC, .tcm_ifindex = queue_index(), .tcm_parent = LEAF},
    };
    struct queue_record row = {.at = at};
    if (send(netlinks[ROUTER], &question, sizeof question, 0) < 0)
        fail("asking the queue");
    const ssize_t got = recv(netlinks[ROUTER], buffer, sizeof buffer, 0);
    const struct nlmsghdr *answer = (struct nlmsghdr *)buffer;
    if (got < 0 || answer->nlmsg_type != RTM_NEWQDISC) {
        errno = got < 0 ? errno : EPROTO;
        fail("reading the queue");
    }
    int size = (int)(answer->nlmsg_len - NLMSG_LENGTH(sizeof(struct tcmsg)));
    const struct tcmsg *about = NLMSG_DATA(answer);
    for (const struct rtattr *at_ = TCA_RTA(about); RTA_OK(at_, size); at_ = RTA_NEXT(at_, size))
        if ((at_->rta_type & NLA_TYPE_MASK) == TCA_STATS2)
            read_counters(at_, &row);
    fwrite(&row, sizeof row, 1, queue_file);
}

/* What flows of TCP say of themselves, at the places that struct tcp_info has had since Linux 6.7. */
void sample_flows(double at)
{
    enum { RTT = 68, WINDOW = 80, RETRANSMISSIONS = 100, ACKNOWLEDGED = 120, TIMEOUTS = 240 };
    for (int i = 0; i < flow_count; i++) {
        uint8_t info[512] = {0};
        socklen_t size = sizeof info;
        if (flows[i].state != THERE || classes[flows[i].class].interval > 0.0
            || getsockopt(flows[i].socket, TCP, INFO, info, &size))
            continue;
        struct flow_record row = {.at = (float)at, .flow = (uint32_t)i};
        uint16_t timeouts;
        memcpy(&row.window, info + WINDOW, sizeof row.window);
        memcpy(&row.rtt, info + RTT, sizeof row.rtt);
        memcpy(&row.retransmissions, info + RETRANSMISSIONS, sizeof row.retransmissions);
        memcpy(&timeouts, info + TIMEOUTS, sizeof timeouts);
        memcpy(&row.acknowledged, info + ACKNOWLEDGED, sizeof row.acknowledged);
        row.timeouts = timeouts;
        fwrite(&row, sizeof row, 1, flow_file);
    }
}
