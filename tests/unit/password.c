/* SPDX-License-Identifier: MIT */
/*
 * password.c, credentials.c and their use in connection.c and sentinel.c: passwords that lie in
 * files. Which files will do, where a relative name lies, that a file is read again for each
 * connection, and that no error shows what it holds, nor what stands in the URL.
 */
#include "support/asker.h"

#include "redis/password.h"
#include "redis/sentinel.h"

static char path[200]; /* in the directory of sockets, which stands in a URL as it is */

static void fill(const char *name, const char *bytes, size_t n) {
    snprintf(path, sizeof path, "%s/%s", socket_dir(), name);
    unlink(path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    need(fd >= 0 && write(fd, bytes, n) == (ssize_t)n, "%s: %s", path, strerror(errno));
    close(fd);
}

static void fill_text(const char *name, const char *text) { fill(name, text, strlen(text)); }

/* ---- the file --------------------------------------------------------------- */

/* What path is read as; "" where it is refused, which is in err. */
static const char *read_path(void) {
    static char out[SFID__URI_TEXT];
    snprintf(out, sizeof out, "as before");
    err = (struct sfid__error){.code = 0};
    reply.class = sfid__password_read("password_file", path, out, &err);
    if (reply.class == SFID__REPLY_OK)
        return out;
    if (strcmp(out, "as before") != 0)
        diag("out was written to");
    return strcmp(out, "as before") == 0 ? "" : out;
}

static void is_password(const char *name, const char *bytes, size_t n, const char *want) {
    fill("password", bytes, n);
    is_str(read_path(), want, "%s", name);
}

static void is_refused(const char *words, const char *what) {
    is_str(read_path(), "", "%s: refused", what);
    if (!ok(reply.class == SFID__REPLY_CONFIG && err.code == SFID_EINVAL &&
                strstr(err.text, words) && strstr(err.text, path) &&
                strstr(err.text, "parameter password_file: ") && !strstr(err.text, "sesame"),
            "and the error names the file, not what it holds"))
        diag("%d: %s", err.code, err.text);
}

static void test_files(void) {
    char longest[300];
    memset(longest, 's', sizeof longest);
    is_password("a password", "sesame", 6, "sesame");
    is_password("a newline at the end is no part of it", "sesame\n", 7, "sesame");
    is_password("a second one is", "sesame\n\n", 8, "sesame\n");
    is_password("spaces are", " se same ", 9, " se same ");
    fill("password", longest, 255);
    is_u64(strlen(read_path()), 255, "255 bytes");
    longest[255] = '\n';
    fill("password", longest, 256);
    is_u64(strlen(read_path()), 255, "255 bytes and a newline");
    longest[255] = 's';
    fill("password", longest, 256);
    is_refused("is longer than 255 bytes", "256 bytes");
    longest[256] = '\n';
    fill("password", longest, 257);
    is_refused("is longer than 255 bytes", "256 bytes and a newline");
    fill("password", longest, 300);
    is_refused("is longer than 255 bytes", "300 bytes");
    fill("password", "", 0);
    is_refused("is empty", "nothing");
    fill("password", "\n", 1);
    is_refused("is empty", "a newline alone");
    fill("password", "sesame\0x", 8);
    is_refused("has a NUL", "a NUL");
}

static void test_kinds(void) {
    snprintf(path, sizeof path, "%s/none", socket_dir());
    is_refused("cannot be read: No such file", "no file");
    snprintf(path, sizeof path, "%s", socket_dir());
    is_refused("is not a regular file", "a directory");
    snprintf(path, sizeof path, "%s/pipe", socket_dir());
    need(mkfifo(path, 0600) >= 0, "mkfifo: %s", strerror(errno));
    is_refused("is not a regular file", "a pipe that nobody writes to");
    snprintf(path, sizeof path, "/dev/zero");
    is_refused("is not a regular file", "a device");
    fill_text("target", "sesame\n");
    need(chmod(path, 0444) >= 0, "chmod: %s", strerror(errno));
    is_str(read_path(), "sesame", "a file that all may read");
    snprintf(path, sizeof path, "%s/link", socket_dir());
    need(symlink("target", path) >= 0, "symlink: %s", strerror(errno));
    is_str(read_path(), "sesame", "a symbolic link");
    const int before = entries("/proc/self/fd");
    for (int i = 0; i < 3; i++) {
        read_path();
        snprintf(path, sizeof path, "%s/pipe", socket_dir());
    }
    is_i64(entries("/proc/self/fd"), before, "no descriptor is left");
}

/* ---- where relative names lie ------------------------------------------------ */

static struct sfid__uri uri;

static int parse_file(const char *name) {
    char url[500];
    snprintf(url, sizeof url, "redis://h?password_file=%s", name);
    err = (struct sfid__error){.code = 0};
    return sfid__uri_parse(url, &uri, &err);
}

static void is_path(const char *name, const char *want) {
    is_str(parse_file(name) == 0 ? uri.password_file : err.text, want, "\"%s\"", name);
}

static void is_no_path(const char *name, const char *words) {
    if (!ok(parse_file(name) == SFID_EINVAL && strstr(err.text, words) &&
                !strstr(err.text, "sesame"),
            "\"%s\" is refused", name))
        diag("%s", err.text);
}

static void test_relative(void) {
    char longest[300];
    unsetenv("CREDENTIALS_DIRECTORY");
    is_path("/run/sesame", "/run/sesame");
    is_path("/run/../sesame", "/run/../sesame");
    is_no_path("sesame", "a relative name needs $CREDENTIALS_DIRECTORY, which is not set");
    setenv("CREDENTIALS_DIRECTORY", "", 1);
    is_no_path("sesame", "$CREDENTIALS_DIRECTORY, which is not set");
    setenv("CREDENTIALS_DIRECTORY", "run/sesame", 1);
    is_no_path("sesame", "$CREDENTIALS_DIRECTORY is not an absolute path");
    setenv("CREDENTIALS_DIRECTORY", "/run/credentials/x.service", 1);
    is_path("/run/sesame", "/run/sesame");
    is_path("sesame", "/run/credentials/x.service/sesame");
    is_path("open%20sesame", "/run/credentials/x.service/open sesame");
    is_path("redis/sesame", "/run/credentials/x.service/redis/sesame");
    is_path("..data/sesame..", "/run/credentials/x.service/..data/sesame..");
    static const char *const upwards[] = {"..",    "../sesame",   "a/../../sesame", "a/..",
                                          "a//..", "./../sesame", "%2e%2e/sesame",  "a%2f.."};
    for (size_t i = 0; i < COUNT(upwards); i++)
        is_no_path(upwards[i], "must not contain \"..\"");
    memset(longest, 'x', sizeof longest);
    longest[255 - strlen("/run/credentials/x.service/")] = '\0';
    ok(parse_file(longest) == 0 && strlen(uri.password_file) == 255, "a path of 255 bytes");
    longest[strlen(longest)] = 'x';
    longest[256 - strlen("/run/credentials/x.service/")] = '\0';
    is_no_path(longest, "the path is longer than 255 bytes");
    setenv("CREDENTIALS_DIRECTORY", socket_dir(), 1);
}

/* ---- connections -------------------------------------------------------------- */

/* Lets in whoever gives "AUTH " and what the test has set; repeats what others gave. */
static void serve_auth(int fd, struct resp *in, struct peer_shared *s) {
    char name[256], line[600];
    while (read_command(in, name, sizeof name)) {
        const bool auth = strncmp(name, "AUTH ", 5) == 0,
                   wrong = auth && strcmp(name + 5, s->send) != 0;
        snprintf(line, sizeof line, wrong ? "-WRONGPASS %s is wrong\r\n" : "+%s\r\n",
                 wrong                  ? name
                 : strcmp(name, "PING") ? "OK"
                                        : "PONG");
        atomic_fetch_add(&s->step, auth);
        say_text(fd, line);
    }
}

static void set_wanted(struct peer *p, const char *what) { set_words(p, what, strlen(what) + 1); }

static void test_connection(void) {
    struct peer p = start_peer(false, serve_auth);
    char url[500];
    fill_text("password", "first sesame\n");
    set_wanted(&p, "first sesame");
    snprintf(url, sizeof url, "%s?password_file=%s", p.url, path);
    struct sfid__connection *c = new_connection(url);
    ok(said(ping(c, LONG_MS), "PONG"), "a password in a file");
    fill_text("password", "second sesame\n");
    ok(said(ping(c, LONG_MS), "PONG"), "exchanged: the connection goes on");
    is_i64(atomic_load(&p.s->step), 1, "without another AUTH");
    sfid__connection_hang_up(c);
    int rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EAUTH, SFID__REPLY_CONFIG, "the user, or the password in ") &&
           strstr(err.text, path) && strstr(err.text, " was refused: WRONGPASS") &&
           !strstr(err.text, "sesame") && !strstr(reply.strings[0], "sesame"),
       "the next one takes up the new one; where that is wrong the error names the file alone");
    set_wanted(&p, "second sesame");
    ok(said(ping(c, LONG_MS), "PONG"), "where it is right all is well");
    sfid__connection_hang_up(c);
    unlink(path);
    rc = ping(c, LONG_MS);
    ok(failed_with(rc, SFID_EINVAL, SFID__REPLY_CONFIG, "connecting: parameter password_file: ") &&
           strstr(err.text, path),
       "no file: the error says so");
    fill_text("password", "second sesame");
    ok(said(ping(c, LONG_MS), "PONG"), "and back again");
    sfid__connection_drop(c);

    snprintf(url, sizeof url, "unix://alice@%s?password_file=password", p.path);
    set_wanted(&p, "alice second sesame");
    c = new_connection(url);
    ok(said(ping(c, LONG_MS), "PONG"), "a user alone before @, and a relative name");
    end_asking(c, &p);
}

/* Repeats what it was sent, in answer to the step that the test chose: 0 AUTH, 1 the name, 2 the
 * command. */
static void serve_echo(int fd, struct resp *in, struct peer_shared *s) {
    char name[256];
    for (int n = 0; read_command(in, name, sizeof name);) {
        const int at = strncmp(name, "AUTH", 4) == 0              ? 0
                       : strncmp(name, "CLIENT SETNAME", 14) == 0 ? 1
                       : n++ >= 2                                 ? 2
                                                                  : 3;
        if (at == atomic_load(&s->step))
            say(fd, s->send, s->send_len);
        else
            say_text(fd, "+OK\r\n");
    }
}

static void test_secrets(void) {
    static const char *const echoes[] = {
        "-ERR unknown command 'AUTH', with args beginning with: 'alice' 'se@same' \r\n",
        "-WRONGPASS alice, se@same is wrong\r\n",
        "-se@same\r\n",
        "-LOADING se@samese@same\r\n",
        "-NOPERM User alice has no permissions to run the 'eval' command\r\n",
        "-ERR xse@samex\r\n",
        "-ERR "
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxx"
        "se@same\r\n", /* where the line is cut off */
    };
    struct peer p = start_peer(false, serve_echo);
    char url[300];
    snprintf(url, sizeof url, "unix://alice:se%%40same@%s", p.path);
    struct sfid__connection *c = new_connection(url);
    for (int step = 0; step < 3; step++)
        for (size_t i = 0; i < COUNT(echoes); i++) {
            atomic_store(&p.s->step, step);
            set_words(&p, echoes[i], strlen(echoes[i]));
            sfid__connection_hang_up(c);
            /* The name is for people: a server need not offer it. */
            const bool passes =
                step == 1 && (strstr(echoes[i], "unknown command") || strstr(echoes[i], "NOPERM"));
            ok((ping(c, LONG_MS) == 0) == passes, "step %d, line %zu %s", step, i,
               passes ? "passes" : "fails");
            const bool shown = strstr(err.text, "alice") || strstr(err.text, "se@") ||
                               strstr(reply.strings[0], "alice") || strstr(reply.strings[0], "se@");
            if (!ok(!shown, "and shows neither user nor password"))
                diag("%s\n%s", err.text, reply.strings[0]);
            if (step == 0 && i == 1)
                ok(err.code == SFID_EAUTH &&
                       strstr(err.text, "AUTH: user or password of the URL was refused: WRONGPASS"),
                   "but which of them was wrong");
        }
    set_words(&p, "+PONG\r\n", 7);
    ok(said(ping(c, LONG_MS), "PONG"), "and then all is well");
    for (int step = 0; step < 2; step++) {
        sfid__connection_drop(c);
        c = new_connection(url);
        atomic_store(&p.s->step, step);
        const int rc = ping(c, LONG_MS);
        ok(failed_with(rc, SFID_EREDIS, SFID__REPLY_CONFIG, "something other than OK"),
           "a greeting is answered by OK, step %d", step);
    }
    end_asking(c, &p);
}

/* Sentinel and master in one; each AUTH is noted. */
static void serve_both(int fd, struct resp *in, struct peer_shared *s) {
    char name[256], line[600];
    while (read_command(in, name, sizeof name)) {
        if (strncmp(name, "AUTH ", 5) == 0) {
            const size_t n = strlen(s->send);
            snprintf(s->send + n, sizeof s->send - n, "%s;", name + 5);
        }
        if (strncmp(name, "SENTINEL ", 9) == 0)
            snprintf(line, sizeof line, "*2\r\n$9\r\n127.0.0.1\r\n$%zu\r\n%d\r\n",
                     (size_t)snprintf(NULL, 0, "%zu", s->send_len), (int)s->send_len);
        else
            snprintf(line, sizeof line,
                     strcmp(name, "ROLE") ? "+OK\r\n" : "*1\r\n$6\r\nmaster\r\n");
        say_text(fd, line);
    }
}

static void test_sentinel(void) {
    struct peer p = start_peer(true, serve_both);
    struct sfid__sentinel *s;
    const char *const argv[] = {"PING"};
    const struct sfid__question q = {1, argv, NULL, sfid__deadline_now_ms() + LONG_MS, NULL};
    char url[500];
    p.s->send_len = (size_t)p.port; /* for the peer */
    fill_text("master", "of the master\n");
    fill_text("sentinel", "of the sentinel\n");
    snprintf(
        url, sizeof url,
        "redis+sentinel://m@127.0.0.1:%d/x?password_file=master&sentinel_user=s&sentinel_password_file=sentinel",
        p.port);
    need(sfid__uri_parse(url, &uri, &err) >= 0 && sfid__sentinel_new(&s, &uri, "orders", &err) >= 0,
         "%s", err.text);
    const int rc = sfid__sentinel_exchange(s, &q, &reply, &err);
    if (!ok(rc == 0, "a sentinel and a master, each with a password in a file"))
        diag("%s", err.text);
    is_str(p.s->send, "s of the sentinel;m of the master;", "each gets its own");
    sfid__sentinel_drop(s);
    unlink(path);
    need(sfid__sentinel_new(&s, &uri, "orders", &err) >= 0, "%s", err.text);
    char begin[60]; /* a long path is cut off behind this */
    snprintf(begin, sizeof begin, "%.50s", path);
    ok(sfid__sentinel_exchange(s, &q, &reply, &err) < 0 &&
           strstr(err.text, "parameter sentinel_password_file: ") && strstr(err.text, begin),
       "no file for the sentinel: the error names that parameter");
    sfid__sentinel_drop(s);
    stop_peer(&p);
}

int main(void) {
    test_files();
    test_kinds();
    test_relative();
    test_connection();
    test_secrets();
    test_sentinel();
    return done_testing();
}
