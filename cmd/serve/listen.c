/* SPDX-License-Identifier: MIT */
/* listen.c - the sockets that are listened on, and their addresses: our own, and those that the
 * service manager passes. */
#include "serve/listen.h"

#include "io/date.h"
#include "io/digits.h"
#include "io/look.h"
#include "io/say.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct listener listeners[2 * LISTEN_MOST];
int listener_count;

/* ---- addresses: HOST:PORT, [V6]:PORT, unix:/PATH ------------------------------------------ */

#define FORMS "use an address such as 127.0.0.1:3525, [::1]:3525 or unix:/run/sfid.sock"

static const char *read_unix(const char *path, struct listen_address *address) {
    if (path[0] != '/')
        return "does not name a Unix socket; " FORMS;
    if (strlen(path) >= sizeof address->un.sun_path)
        return "is too long; the path of a Unix socket has at most 107 bytes";
    address->un = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->un.sun_path, path, strlen(path) + 1);
    address->len = sizeof address->un;
    return NULL;
}

/* Copies the host before the port, without brackets. */
static bool cut_host(const char *text, const char *end, char *host, size_t size) {
    const size_t len = (size_t)(end - text);
    if (len >= size)
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    return true;
}

/* Returns NULL, or what is wrong, to follow the text in a message. */
static const char *parse_address(const char *text, struct listen_address *address) {
    char host[INET6_ADDRSTRLEN];
    uint64_t port;
    const char *colon = strrchr(text, ':');
    *address = (struct listen_address){.len = 0};
    if (strncmp(text, "unix:", 5) == 0)
        return read_unix(text + 5, address);
    if (colon == NULL || !read_u64(colon + 1, UINT16_MAX, &port))
        return "has no port from 0 to 65535; " FORMS;
    if (text[0] == '[') {
        address->in6 =
            (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        address->len = sizeof address->in6;
        if (colon[-1] != ']' || !cut_host(text + 1, colon - 1, host, sizeof host) ||
            inet_pton(AF_INET6, host, &address->in6.sin6_addr) != 1)
            return "has no numeric IPv6 address in its brackets; " FORMS;
        return NULL;
    }
    address->in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address->len = sizeof address->in;
    if (!cut_host(text, colon, host, sizeof host) ||
        inet_pton(AF_INET, host, &address->in.sin_addr) != 1)
        return "has no numeric IPv4 address; " FORMS;
    return NULL;
}

/* Can programs of this host alone reach it? */
static bool is_local(const struct listen_address *address) {
    return address->any.sa_family == AF_UNIX ||
           (address->any.sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr)
                                               : ntohl(address->in.sin_addr.s_addr) >> 24 == 127);
}

/* Returns STATUS_GOOD, or the status to end with, after a message. */
static int read_address(const char *text, struct listen_address *address) {
    const char *wrong = parse_address(text, address);
    if (wrong)
        return fail(STATUS_USAGE, "%s: %s %s", settings.listen_label, QUOTE(text), wrong);
    if (!is_local(address) && !settings.expose)
        return fail(
            STATUS_CONFIG,
            "%s: %s can be reached from other hosts; add --expose to allow that, or use a loopback address",
            settings.listen_label, QUOTE(text));
    return STATUS_GOOD;
}

void listen_address_show(const struct listen_address *address, char text[ADDRESS_ROOM]) {
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->any.sa_family == AF_UNIX) {
        snprintf(text, ADDRESS_ROOM, "unix:%s",
                 address->un.sun_path[0] ? address->un.sun_path : "(abstract)");
    } else if (address->any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &address->in6.sin6_addr, host, sizeof host);
        snprintf(text, ADDRESS_ROOM, "[%s]:%u", host, ntohs(address->in6.sin6_port));
    } else {
        inet_ntop(AF_INET, &address->in.sin_addr, host, sizeof host);
        snprintf(text, ADDRESS_ROOM, "%s:%u", host, ntohs(address->in.sin_port));
    }
}

/* ---- Unix sockets with a path: one server at a time, and no file of others is removed ---- */

enum { LOCK_MS = 5000, NAP_MS = 10 }; /* how long another server that starts may have the lock */

/* Whether others can lead the lock elsewhere, or write to it. They could keep this server from
 * starting, or let two start. */
static bool lock_is_ours(const char *lock, int fd) {
    char why[SFID_WHY_LEN], whole[PATH_ROOM];
    struct stat st;
    if (lock[0] != '/' && getcwd(whole, sizeof whole) == NULL)
        return false;
    const size_t used = lock[0] == '/' ? 0 : strlen(whole);
    snprintf(whole + used, sizeof whole - used, "%s%s", used ? "/" : "", lock);
    if (sfid_path_check(whole, why, sizeof why) < 0)
        return refuse("%s: %s", lock, why);
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return true;
    return refuse(
        "%s belongs to user %u and has mode %04o: it has to belong to user %u, and nobody else may write to it; remove it, or use "
        "another path",
        lock, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777, (unsigned)geteuid());
}

static bool lock_in_time(const char *lock, int fd) {
    const struct timespec nap = {0, NAP_MS * 1000000};
    for (const int64_t end = monotonic_ms() + LOCK_MS; flock(fd, LOCK_EX | LOCK_NB) < 0;
         nanosleep(&nap, NULL))
        if ((errno != EWOULDBLOCK && errno != EINTR) || monotonic_ms() >= end)
            return refuse("%s: %s", lock,
                          errno == EWOULDBLOCK
                              ? "another process has had this lock for five seconds"
                              : strerror(errno));
    return true;
}

/* Holds PATH.lock while the path is tested, removed and bound. The file stays: removing it would
 * let two servers hold one each. */
static int lock_path(const char *path) {
    char lock[sizeof((struct sockaddr_un *)0)->sun_path + 8];
    snprintf(lock, sizeof lock, "%s.lock", path);
    const int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
    if (fd < 0)
        say("unix:%s: the lock %s cannot be opened: %s", path, lock, strerror(errno));
    if (fd < 0 || (lock_is_ours(lock, fd) && lock_in_time(lock, fd)))
        return fd;
    close(fd);
    return -1;
}

/* Removes a socket that nobody listens on. */
static int make_way(const struct listen_address *address) {
    const char *path = address->un.sun_path;
    struct stat st;
    if (lstat(path, &st) < 0)
        return STATUS_GOOD; /* bind(2) says what else is wrong */
    if (!S_ISSOCK(st.st_mode))
        return fail(STATUS_STATE,
                    "unix:%s: the file there is not a socket; remove it, or use another path",
                    path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int rc = fd < 0 ? -1 : connect(fd, &address->any, address->len), why = errno;
    if (fd >= 0)
        close(fd);
    if (rc < 0 && why == ECONNREFUSED && unlink(path) == 0)
        return STATUS_GOOD;
    if (rc == 0 || why == EAGAIN || why == EPROTOTYPE)
        return fail(STATUS_BUSY, "unix:%s: another server is listening there", path);
    return fail(STATUS_STATE, "unix:%s: the socket there cannot be replaced: %s", path,
                strerror(why == ECONNREFUSED ? errno : why));
}

static int bind_path(const struct listen_address *address, struct listener *listener) {
    struct stat st;
    const mode_t mask = umask((mode_t)(0777 & ~settings.mode));
    const int rc = bind(listener->fd, &address->any, address->len), why = errno;
    umask(mask);
    if (rc < 0) {
        say("unix:%s: %s", address->un.sun_path, strerror(why));
        return why == EADDRINUSE ? STATUS_BUSY : STATUS_STATE;
    }
    if (stat(address->un.sun_path, &st) == 0) {
        listener->device = st.st_dev;
        listener->inode = st.st_ino;
    }
    return STATUS_GOOD;
}

/* Binds a socket where none, or only a dead one, is. Returns STATUS_GOOD, or the status to end
 * with, after a message. */
static int bind_unix(const struct listen_address *address, struct listener *listener) {
    const int lock = lock_path(address->un.sun_path);
    if (lock < 0)
        return STATUS_STATE;
    int status = make_way(address);
    if (status == STATUS_GOOD)
        status = bind_path(address, listener);
    if (status == STATUS_GOOD && listen(listener->fd, SOMAXCONN) < 0)
        /* before the lock is given up: until now a connection would be refused */
        status = STATUS_STATE;
    close(lock);
    return status;
}

/* ---- our own ------------------------------------------------------------------- */

/* What a name says after the kernel has chosen a port. */
static void name_it(struct listener *listener) {
    struct listen_address address = {.len = sizeof address.un};
    if (getsockname(listener->fd, &address.any, &address.len) < 0)
        return;
    listen_address_show(&address, listener->name);
    listener->tcp = address.any.sa_family != AF_UNIX;
    listener->local = listener->tcp && !settings.expose && is_local(&address);
    const int on = 1;
    if (listener->tcp) /* accepted sockets inherit it */
        setsockopt(listener->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int bind_tcp(const struct listen_address *address, const struct listener *listener) {
    const int on = 1;
    char text[ADDRESS_ROOM];
    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->any.sa_family == AF_INET6)
        setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(listener->fd, &address->any, address->len) == 0 &&
        listen(listener->fd, SOMAXCONN) == 0)
        return STATUS_GOOD;
    const int why = errno;
    listen_address_show(address, text);
    say("%s: %s%s", text, strerror(why), why == EADDRINUSE ? "; another server listens there" : "");
    return why == EADDRINUSE ? STATUS_BUSY : why == EACCES ? STATUS_AUTH : STATUS_CONFIG;
}

static int open_address(const struct listen_address *address) {
    struct listener *listener = &listeners[listener_count];
    *listener = (struct listener){
        .fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (listener->fd < 0)
        return fail(STATUS_CONFIG, "no socket can be made: %s", strerror(errno));
    listener_count++;
    const int status = address->any.sa_family == AF_UNIX ? bind_unix(address, listener)
                                                         : bind_tcp(address, listener);
    if (status == STATUS_GOOD)
        name_it(listener);
    return status;
}

/* Can [::1] be bound here? */
static bool has_ipv6(void) {
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool has = fd >= 0 && bind(fd, (const struct sockaddr *)&any, sizeof any) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

/* ---- passed --------------------------------------------------------------------- */

enum { PASSED_FIRST = 3 };

static int refuse_passed(int fd, const char *why) {
    return fail(STATUS_CONFIG, "$LISTEN_FDS: descriptor %d %s; pass stream sockets that listen", fd,
                why);
}

static int take_passed(int fd) {
    struct stat st;
    int listens = 0, type = 0;
    socklen_t len = sizeof listens, type_len = sizeof type;
    if (fstat(fd, &st) < 0)
        return refuse_passed(fd, "is not open");
    if (!S_ISSOCK(st.st_mode))
        return refuse_passed(fd, "is no socket");
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) < 0 || type != SOCK_STREAM)
        return refuse_passed(fd, "is a datagram socket");
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 || !listens)
        return refuse_passed(fd, "does not listen");
    struct listener *listener = &listeners[listener_count++];
    *listener = (struct listener){.fd = fd, .passed = true};
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    name_it(listener);
    return STATUS_GOOD;
}

static int take_all_passed(void) {
    uint64_t pid = 0, count = 0;
    const char *whom = getenv("LISTEN_PID"), *many = getenv("LISTEN_FDS");
    const bool ours = whom && many && read_u64(whom, INT32_MAX, &pid) && pid == (uint64_t)getpid();
    if (ours && !read_u64(many, LISTEN_MOST, &count))
        return fail(STATUS_CONFIG, "$LISTEN_FDS: %s is not a number of sockets from 0 to %d",
                    QUOTE(many), LISTEN_MOST);
    int status = STATUS_GOOD;
    for (int i = 0; status == STATUS_GOOD && i < (int)count; i++)
        status = take_passed(PASSED_FIRST + i);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return status;
}

/* ---- all -------------------------------------------------------------------------- */

int listen_open(void) {
    struct listen_address addresses[LISTEN_MOST];
    int count = settings.listen_count, status = STATUS_GOOD;
    for (int i = 0; status == STATUS_GOOD && i < count; i++)
        status = read_address(settings.listen[i], &addresses[i]);
    if (status == STATUS_GOOD)
        status = take_all_passed();
    if (status == STATUS_GOOD && count == 0 && listener_count == 0) {
        parse_address("127.0.0.1:3525", &addresses[count++]);
        if (has_ipv6())
            parse_address("[::1]:3525", &addresses[count++]);
    }
    for (int i = 0; status == STATUS_GOOD && i < count; i++)
        status = open_address(&addresses[i]);
    while (status != STATUS_GOOD && listener_count > 0)
        listen_close(&listeners[--listener_count]);
    return status;
}

void listen_close(struct listener *listener) {
    struct stat st;
    const char *path = listener->name + strlen("unix:");
    if (listener->inode && lstat(path, &st) == 0 && st.st_dev == listener->device &&
        st.st_ino == listener->inode)
        unlink(path);
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
}
