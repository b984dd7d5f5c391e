/* Proportional rate reduction; see prr.h. */
#include "packet/tcp/prr.h"

int64_t pi2_prr(const pi2_prr_state *now)
{
    const int64_t room = now->ssthresh - now->in_flight;
    int64_t send;
    if (room < 0) {
        send = (now->ssthresh * now->delivered_in_all + now->prior_window - 1) / now->prior_window - now->sent;
    } else {
        send = now->delivered_in_all - now->sent;
        if (send < now->delivered)
            send = now->delivered;
        if (now->safe)
            send++;
        if (send > room)
            send = room;
    }
    if (send < (now->sent ? 0 : 1)) /* the first retransmission goes out at once */
        send = now->sent ? 0 : 1;
    return send;
}
