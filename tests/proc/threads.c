/* SPDX-License-Identifier: MIT */
/*
 * Eight threads on one generator: no duplicate, each thread's IDs increase, and a call that starts
 * after another has returned gets a higher ID, whichever threads made them.
 *
 * Sizes: 50 million IDs where the sequence has room for them (also the short size; 400,000 with a
 * sanitizer), and 8 million (short: 2 million; sanitizer: 1.5 million) where all calls borrow up to
 * four seconds ahead of the clock: of a layout with so few numbers that eight threads on any
 * machine use them up faster than the clock goes.
 */
#include "support/proc.h"

enum { THREADS = 8, LEAD_MS = 4000 };

struct run {
    const char *layout_text;
    sfid_layout layout;
    sfid *g;
    uint64_t each;
    int64_t may_lead_ns;     /* how far an ID may lie ahead of a clock read after its call */
    _Atomic int64_t highest; /* of all IDs that calls have returned so far */
    atomic_bool go;
};

struct worker {
    struct run *run;
    int number;
    pthread_t thread;
    struct idlog log;
    uint64_t errors, disorders, too_far, borrowed;
    int64_t first_error, furthest_ns;
};

static bool may_go(void *go) { return atomic_load((atomic_bool *)go); }

static void judge_lead(struct worker *w, int64_t lead_ns) {
    w->borrowed += lead_ns > 0;
    w->too_far += lead_ns > w->run->may_lead_ns;
    if (lead_ns > w->furthest_ns)
        w->furthest_ns = lead_ns;
}

/*
 * The highest ID returned so far is read (acquire) before the call and raised (release) after it:
 * what is seen there was returned before this call began. Even threads publish each ID, odd ones
 * every 16th, so that both a crowded and a quiet word are met.
 */
static void *work(void *arg) {
    struct worker *w = arg;
    struct run *run = w->run;
    tap_wait_until(may_go, &run->go, TAP_WAIT_MS);
    for (uint64_t i = 0; i < run->each && w->errors < 100;) {
        const int64_t before = atomic_load_explicit(&run->highest, memory_order_acquire);
        const int64_t id = sfid_next(run->g);
        if (id < 0) {
            w->errors++;
            w->first_error = w->first_error ? w->first_error : id;
            continue;
        }
        judge_lead(w, id_ns(&run->layout, id) - wall_ns());
        w->disorders += id <= before;
        idlog_put(&w->log, id);
        if (w->number % 2 == 0 || i % 16 == 0)
            raise_to(&run->highest, id);
        i++;
    }
    return NULL;
}

static void add_up(const struct worker *workers, struct worker *sum) {
    *sum = (struct worker){.furthest_ns = INT64_MIN};
    for (int i = 0; i < THREADS; i++) {
        sum->errors += workers[i].errors;
        sum->disorders += workers[i].disorders;
        sum->too_far += workers[i].too_far;
        sum->borrowed += workers[i].borrowed;
        sum->first_error = sum->first_error ? sum->first_error : workers[i].first_error;
        if (workers[i].furthest_ns > sum->furthest_ns)
            sum->furthest_ns = workers[i].furthest_ns;
    }
}

static void report(const struct worker *sum, uint64_t ids, int64_t ns, const sfid *g) {
    sfid_status_info st;
    if (sfid_status(g, &st) == 0) {
        diag("figure: issued %" PRIu64 " by its own count, %" PRIu64 " calls waited", st.issued,
             st.waits);
        is_u64(st.issued, ids, "the generator counts what it issued");
    }
    diag("figure: %" PRIu64 " IDs from %d threads in %.2f s: %.1f ns an ID; %" PRIu64
         " above the clock, the furthest by %.3f ms",
         ids, THREADS, (double)ns / 1e9, (double)ns / (double)ids, sum->borrowed,
         (double)sum->furthest_ns / 1e6);
}

static struct worker draw_all(struct run *run, const sfid_options *opt, uint64_t total,
                              const char *what) {
    struct worker workers[THREADS] = {0}, sum;
    run->each = total / THREADS;
    run->g = open_or_die(opt);
    const int64_t offset = clock_offset();
    for (int i = 0; i < THREADS; i++) {
        workers[i].run = run;
        workers[i].number = i;
        log_start(&workers[i].log, run->each, 1, (uint64_t)opt->pid, "thread-%d", i);
        start_thread(&workers[i].thread, work, &workers[i]);
    }
    const int64_t begin = mono_ns();
    atomic_store(&run->go, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        idlog_close(&workers[i].log);
    }
    add_up(workers, &sum);
    is_i64(sum.first_error, 0, "%s: no call fails", what);
    report(&sum, run->each * THREADS, mono_ns() - begin, run->g);
    is_u64(sum.disorders, 0, "%s: a call that starts after another has returned gets a higher ID",
           what);
    if (clock_stepped(offset))
        diag("the clock was stepped: nothing is said about IDs and clock");
    else
        is_u64(sum.too_far, 0, "%s: no ID lies further ahead of the clock than allowed", what);
    sfid_close(run->g);
    judge(run->layout_text, "per-file", run->each * THREADS, what);
    return sum;
}

int main(void) {
    dirs_make();
    struct run roomy = {.layout_text = "41:2:20/1ms"},
               borrowing = {.layout_text = "41:14:8/1ms",
                            .may_lead_ns = LEAD_MS * (int64_t)NS_PER_MS};
    roomy.layout = layout_of(roomy.layout_text);
    sfid_options opt = options_of("threads", 2, &roomy.layout);
    draw_all(&roomy, &opt, sized(50000000, 50000000, 400000), "room for all");

    borrowing.layout = layout_of(borrowing.layout_text);
    opt = options_of("borrowers", 4095, &borrowing.layout);
    opt.exhaustion = SFID_BORROW;
    opt.max_ahead_ms = LEAD_MS;
    opt.max_wait_ms = TAP_WAIT_MS; /* a thread may be late: then the others have its numbers */
    const struct worker sum =
        draw_all(&borrowing, &opt, sized(2000000, 8000000, 1500000), "borrowing");
    ok(sum.borrowed > 0, "borrowing: IDs were issued ahead of the clock");
    return done_testing();
}
