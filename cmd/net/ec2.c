/* SPDX-License-Identifier: MIT */
/* ec2.c - asks the metadata service of EC2, version 2: a token first, which the other requests
 * name. */
#include "net/ec2.h"

#include "io/say.h"
#include "net/http.h"
#include "net/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LIMIT_MS 1000
#define TRIES 3

static bool fail_ec2(int status, const char *what, const char *why) {
    say("--ec2: %s%s%s", what, *why ? ": " : "", why);
    end_with(status);
    return false;
}

/* Finds the service. A path in the endpoint would not be the service's, so only a slash is passed
 * over. */
static bool find_service(struct address *address) {
    static const char scheme[] = "http://";
    const char *disabled = getenv("AWS_EC2_METADATA_DISABLED"),
               *given = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    if (disabled && strcasecmp(disabled, "true") == 0)
        return fail_ec2(STATUS_UNREACHABLE, "$AWS_EC2_METADATA_DISABLED is true", "");
    const char *text = given && *given ? given : "http://169.254.169.254";
    const size_t begin = strncasecmp(text, scheme, sizeof scheme - 1) == 0 ? sizeof scheme - 1 : 0;
    const size_t len = strlen(text + begin), slash = len > 0 && text[begin + len - 1] == '/';
    if (begin > 0 && address_read(text + begin, len - slash, "80", address) && address->port[0])
        return true;
    return fail_ec2(
        STATUS_CONFIG,
        "$AWS_EC2_METADATA_SERVICE_ENDPOINT is not an address such as http://169.254.169.254", "");
}

/* Returns the status of HTTP, or 0 with why set. */
static int ask_once(const struct address *address, const char *what, const char *more,
                    char text[EC2_FACT + 1], char why[PEER_WHY]) {
    static char room[HTTP_HEAD + EC2_FACT + 8];
    struct peer peer;
    struct http_answer answer = {0, NULL, 0};
    int status = 0;
    if (peer_open(&peer, address, LIMIT_MS)) {
        if (!http_ask(&peer, address, what, more, room, sizeof room, &answer))
            status = 0;
        else if (answer.len > EC2_FACT || strlen(answer.body) != answer.len)
            snprintf(peer.why, sizeof peer.why, "the answer is longer than %d bytes, or not text",
                     EC2_FACT);
        else
            status = answer.status;
        peer_close(&peer);
    }
    memcpy(why, peer.why, sizeof peer.why);
    if (status == 0)
        return 0;
    memcpy(text, answer.body, answer.len + 1);
    snprintf(why, sizeof peer.why, "the answer has status %d", status);
    return status;
}

/* Tries again what may be over by then. */
static bool ask(const struct address *address, const char *what, const char *more,
                char text[EC2_FACT + 1]) {
    char why[PEER_WHY] = "";
    for (int i = 0; i < TRIES; i++) {
        const int status = ask_once(address, what, more, text, why);
        const size_t len = strcspn(text, "\r\n");
        if (status == 200 && len > 0 && text[len + strspn(text + len, "\r\n")] == '\0') {
            text[len] = '\0';
            return true;
        }
        if (status == 200)
            snprintf(why, sizeof why, "the answer is not a single line");
        if (status >= 400 && status < 500 && status != 429)
            break;
    }
    return fail_ec2(STATUS_UNREACHABLE, "the metadata service", why);
}

bool ec2_ask(const char *fact, char text[EC2_FACT + 1]) {
    static char token[EC2_FACT + 1];
    struct address address;
    char what[80], more[EC2_FACT + 80];
    if (!find_service(&address))
        return false;
    if (token[0] == '\0' &&
        !ask(&address, "PUT /latest/api/token",
             "X-aws-ec2-metadata-token-ttl-seconds: 60\r\nContent-Length: 0\r\n", token)) {
        token[0] = '\0';
        return false;
    }
    snprintf(what, sizeof what, "GET /latest/meta-data/%s", fact);
    snprintf(more, sizeof more, "X-aws-ec2-metadata-token: %s\r\n", token);
    return ask(&address, what, more, text);
}
