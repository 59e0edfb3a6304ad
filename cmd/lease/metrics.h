/* SPDX-License-Identifier: MIT */
/* metrics.h - writes leases for Prometheus. */
#ifndef CMD_LEASE_METRICS_H
#define CMD_LEASE_METRICS_H

#include "lease/show.h"

/* leases NULL: the server did not answer. */
void leases_metrics(const sfid_options *opt, const struct leases *leases);

#endif
