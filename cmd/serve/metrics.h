/* SPDX-License-Identifier: MIT */
/* metrics.h - what is counted, for Prometheus. */
#ifndef CMD_SERVE_METRICS_H
#define CMD_SERVE_METRICS_H

#include "serve/answer.h"

void metrics_write(struct client *client, bool openmetrics);

#endif
