/* SPDX-License-Identifier: MIT */
/* ec2.h - the metadata service of EC2. */
#ifndef CMD_NET_EC2_H
#define CMD_NET_EC2_H

#include "io/base.h"

#define EC2_FACT 1024 /* longest answer */

/*
 * Asks for a fact (version 2 of the service): 1 s for each request, 3 tries. Returns false after a
 * message and end_with(). $AWS_EC2_METADATA_SERVICE_ENDPOINT is another address (plain http),
 * $AWS_EC2_METADATA_DISABLED=true forbids to ask.
 */
#define EC2_ADDRESS "local-ipv4"
#define EC2_REGION "placement/region"
bool ec2_ask(const char *fact, char text[EC2_FACT + 1]);

#endif
