/* SPDX-License-Identifier: MIT */
/* page_html.h - made from page.html. */
#ifndef CMD_SERVE_PAGE_HTML_H
#define CMD_SERVE_PAGE_HTML_H

/* what the page may do is a Content-Security-Policy */
extern const char page_html[], page_policy[];

#endif
