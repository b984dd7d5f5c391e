/* What a sender does about losses and marks. */
#pragma once

#include "packet/run/run.h"
#include "packet/tcp/ends/news.h"

/* What is to be sent after an acknowledgement. */
enum { PI2_NOTHING_LOST, PI2_RESEND_LOST, PI2_SEND_NEW };

/* An acknowledgement that is not plain progress; returns what is to be sent. */
int pi2_react(pi2_run *run, pi2_flow *flow, pi2_news *news, int64_t echo, int64_t now);
/* The window during a reduction. */
void pi2_reduce(pi2_flow *flow, const pi2_news *news);
void pi2_reorder_timeout(pi2_run *run, pi2_flow *flow, int64_t now);
void pi2_enter_loss(pi2_run *run, pi2_flow *flow, int64_t now);
