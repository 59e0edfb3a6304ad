/* SPDX-License-Identifier: MIT */
/*
 * share.h - one page, and one pid, for all processes of a user on a host that
 * open an app with `share`. If they need more than one page's rate, some move on
 * to the next one (draw/crowd.h).
 *
 * The locks of page and mark show which processes live: each has a share of both,
 * and the process that begins, replaces or ends the page has them alone. With a
 * server there is no mark: the right to the pid lies with the server. A
 * process that finds nobody ("cold") keeps them alone until the page has a
 * record whose window is durable. So a process that finds others ("live") can
 * draw from that record at once. A process locks the page before the mark, and
 * gives up the mark before the page: so a newcomer that is alone with the page
 * finds its pid free. doc/design.md has the argument.
 */
#ifndef SFID_LEASE_SHARE_H
#define SFID_LEASE_SHARE_H

#include "lease/holder_parts.h"

/* Pages of an app that processes of one user share: as many as the load needs, each with a pid of
 * its own. */
enum { SFID__SHARED_PAGES = 4 };

/*
 * Takes part in the page of the app, or begins one. Waits while another process
 * begins or ends it, and passes over pages that stay in that state. *live: others
 * have it, and with it the pid. 0 or a code, with the sentence in h->error.
 */
int sfid__share_join(struct sfid__holder *h, bool *live);

/*
 * For the process that has the page alone, and a pid's mark: gives the page that pid's name. begin
 * looks at the page that has the name so far (h->beside), and makes a new page if this one is
 * another pid's, or half full: others are let in to stay. After 0, end has to follow; it carries
 * over what was found, and takes the name or leaves it. Return as sfid__slot_take().
 */
int sfid__share_name_begin(struct sfid__holder *h, const char *name,
                           const struct sfid__slot_want *want, struct sfid__slot_naming *n,
                           struct sfid__error *err);
int sfid__share_name_end(struct sfid__holder *h, const struct sfid__slot_naming *n, uint64_t pid,
                         bool take, struct sfid__error *err);

/* Lets others in, once there is a record. Until then this process was alone. */
int sfid__share_let_in(struct sfid__holder *h);

/* Gives up this process's shares. True if it was the last one: then it has both locks alone, and
 * has to release the pid. */
bool sfid__share_is_last(struct sfid__holder *h);

/* True if another keeper has replaced the record that this holder knows as the current one;
 * moved_on: or closed it. */
bool sfid__share_is_replaced(const struct sfid__holder *h);
bool sfid__share_moved_on(const struct sfid__holder *h);

#endif
