/* One thread at a time, for who looks often: what was copied of it, as a target. */
#include "live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct live_sampler {
    const struct live_agent *agent; /* NULL: `tracing`. */
    struct live_tracing *tracing;
    /* An order, and what came of it: of one of an agent's exchanges, or of here. */
    struct live_order *order;
    const struct live_delivery *delivery;
    const uint8_t *bytes;
    struct live_order own_order;
    struct live_delivery own_delivery;
    int32_t ready; /* The thread that was stopped when it was asked what it does; 0: none. */
    int32_t copied_thread;           /* The same of one that waits, whose memory was copied. */
    int32_t together[LIVE_TOGETHER]; /* Threads of the other exchanges; 0: told. */
    size_t together_count;
    uint64_t moment;
    bool late;            /* Threads did not stop yet. */
    psc_addr stack_start; /* What was copied of the last stack. */
    psc_addr stack_end;
    size_t copied; /* Pages that are of the sample's moment. */
};

static bool begin_tracing(struct live *live, struct live_sampler *sampler)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d", live->pid);
    const int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!live->stacks.bytes && !stacks_init(&live->stacks, 0))
        return false;
    sampler->tracing = live_tracing_create(live->pid, folder);
    if (folder >= 0)
        close(folder);
    sampler->order = &sampler->own_order;
    sampler->delivery = &sampler->own_delivery;
    sampler->bytes = live->stacks.bytes;
    return sampler->tracing != NULL;
}

/* 0: that of orders that are given alone. */
static void choose_exchange(struct live_sampler *sampler, size_t number)
{
    if (!sampler->agent)
        return;
    struct live_exchange *exchange = &sampler->agent->exchanges[number];
    sampler->order = &exchange->order;
    sampler->delivery = &exchange->delivery;
    sampler->bytes = exchange->bytes;
}

static struct live_sampler *find_sampler(struct target *target)
{
    struct live *live = live_of(target);
    if (live->sampler)
        return live->sampler;
    struct live_sampler *sampler = calloc(1, sizeof(*sampler));
    if (!sampler)
        return NULL;
    sampler->agent = target->options.agent;
    if (sampler->agent) {
        choose_exchange(sampler, 0);
    } else if (!begin_tracing(live, sampler)) {
        free(sampler);
        return NULL;
    }
    live->sampler = sampler;
    return sampler;
}

void sampler_destroy(struct live *live)
{
    struct live_sampler *sampler = live->sampler;
    if (sampler && sampler->agent)
        sampler->agent->end(sampler->agent->context, live->pid);
    if (sampler)
        live_tracing_destroy(sampler->tracing);
    free(sampler);
    live->sampler = NULL;
}

/* Of the order that was filled; what came before it is over. */
static enum psc_status give(const struct live *live, enum live_order_kind kind)
{
    struct live_sampler *sampler = live->sampler;
    sampler->order->kind = kind;
    sampler->ready = sampler->copied_thread = 0;
    const struct live_errand errand = {sampler->order, live->stacks.bytes, &sampler->own_delivery};
    if (!sampler->agent)
        live_tracing_do(sampler->tracing, &errand, 1);
    else if (!sampler->agent->give(sampler->agent->context, live->pid, 0, 1))
        return PSC_ERR_IO;
    sampler->late = sampler->delivery->late_count;
    return (enum psc_status)sampler->delivery->status;
}

/* In the exchange of that number. */
static void fill_order(const struct target *target, const struct live_sample *sample, size_t number)
{
    struct live_sampler *sampler = live_of(target)->sampler;
    choose_exchange(sampler, number);
    struct live_order *order = sampler->order;
    const struct target_mapping *mapping =
        sample->near ? target_find_mapping(target, sample->near) : NULL;
    const size_t count =
        sample->page_count < LIVE_SAMPLE_PAGES ? sample->page_count : LIVE_SAMPLE_PAGES;
    order->tid = sample->tid;
    order->moment = sampler->moment;
    order->stops = order->copies = false;
    order->runs = 0;
    order->near = sample->near;
    order->near_start = mapping ? mapping->start : 0;
    order->near_end = mapping ? mapping->end : 0;
    order->stack_size =
        sample->stack_size < LIVE_SAMPLE_STACK ? sample->stack_size : LIVE_SAMPLE_STACK;
    order->page_count = (uint32_t)count;
    if (count)
        memcpy(order->pages, sample->pages, count * sizeof(*order->pages));
}

/* What could not be copied is read when it is wanted. */
static void take_copied(struct live *live)
{
    struct live_sampler *sampler = live->sampler;
    const struct live_delivery *delivery = sampler->delivery;
    const uint8_t *bytes = sampler->bytes;
    size_t left = (size_t)delivery->got;
    sampler->stack_start = delivery->stack_start;
    sampler->stack_end = delivery->stack_end;
    for (size_t i = 0; i < delivery->range_count && left >= LIVE_PAGE; i++) {
        const struct iovec *range = &delivery->ranges[i];
        for (size_t at = 0; at < range->iov_len && left >= LIVE_PAGE; at += LIVE_PAGE) {
            if (!pages_add(&live->pages, (psc_addr)(uintptr_t)range->iov_base + at, bytes))
                break;
            bytes += LIVE_PAGE;
            left -= LIVE_PAGE;
        }
    }
    sampler->copied = live->pages.table.count;
}

/* ---- one that sleeps ---- */

/*
 * The count rises whenever the thread is given a processor (kernel/sched/stats.h,
 * sched_info_arrive()), and "syscall" was written while it had none (lib/syscall.c,
 * task_current_syscall()): with the same count behind the copy it had none in between.
 */
static bool copy_asleep(struct target *target, const struct live_sample *sample)
{
    const struct target_machine *machine = target->machine;
    const struct live_sleep *sleep = sample->sleep;
    struct live *live = live_of(target);
    uint8_t bytes[TARGET_USER_REGISTERS_LIMIT];
    struct target_thread *thread = &target->threads[0];
    uint64_t time, runs;
    psc_addr pointer;
    if (!sleep->runs || !sleep->thread_pointer ||
        !parse_waiting(sleep->call, sleep->call_size, bytes))
        return false;
    *thread = (struct target_thread){.tid = sample->tid, .thread_pointer = sleep->thread_pointer};
    parse_user_registers(machine, bytes, &thread->registers, &pointer);
    thread->registers.unknown = ((UINT64_C(1) << machine->register_count) - 1) &
                                ~(UINT64_C(1) << machine->sp | UINT64_C(1) << machine->pc);
    const bool copied = live->sampler->copied_thread == sample->tid;
    if (!copied) {
        fill_order(target, sample, 0);
        live->sampler->order->sp = target_sp(target, &thread->registers);
        if (give(live, LIVE_ORDER_COPY) != PSC_OK)
            return false;
    }
    if (!(copied && sleep->slept_on) &&
        (!live_read_runs(sleep->schedstat, &time, &runs) || runs != sleep->runs)) {
        live_sample_nothing(target);
        return false;
    }
    take_copied(live);
    target->thread_count = 1;
    return true;
}

/* ---- the door ---- */

void live_read_directly(struct target *target)
{
    reader_read_directly(live_of(target)->reader);
    pages_expect_few(&live_of(target)->pages);
}

void live_sample_only_copied(struct target *target, bool only)
{
    live_of(target)->pages.closed = only;
}

void live_begin_moment(struct target *target)
{
    const struct live *live = live_of(target);
    live_sample_nothing(target);
    if (live->sampler)
        live->sampler->moment++;
}

void live_end_moment(struct target *target)
{
    const struct live *live = live_of(target);
    if (live->sampler && live->sampler->tracing)
        live_tracing_rest(live->sampler->tracing);
    // What is in the pages is the agent's, and another sample's next.
    if (live->sampler && live->sampler->agent)
        live_sample_nothing(target);
}

size_t live_late_pages(const struct target *target)
{
    const struct live *live = live_of(target);
    return live->pages.table.count - (live->sampler ? live->sampler->copied : 0);
}

bool live_was_late(const struct target *target, psc_addr start, size_t size)
{
    const struct live *live = live_of(target);
    size_t copied = live->sampler ? live->sampler->copied : 0;
    // What was copied stands first.
    for (size_t i = copied; i < live->pages.table.count; i++) {
        psc_addr page = pages_at(&live->pages, i)->address;
        if (page < start + size && start < page + LIVE_PAGE)
            return true;
    }
    return false;
}

static void sampler_forget(struct live_sampler *sampler)
{
    sampler->stack_start = sampler->stack_end = 0;
    sampler->copied = 0;
}

void live_sample_nothing(struct target *target)
{
    struct live *live = live_of(target);
    pages_clear(&live->pages);
    target->thread_count = 0;
    target->warnings.count = 0;
    if (live->sampler)
        sampler_forget(live->sampler);
}

void live_let_late_go(struct target *target)
{
    if (live_has_late(target))
        (void)give(live_of(target), LIVE_ORDER_LATE);
}

bool live_has_late(const struct target *target)
{
    const struct live *live = live_of(target);
    return live->sampler && live->sampler->late;
}

size_t live_room_together(const struct target *target)
{
    return target->options.agent ? LIVE_TOGETHER : 0;
}

void live_note_question(struct target *target, const struct live_sample *sample, bool stops,
                        bool copies, uint64_t runs)
{
    struct live_sampler *sampler = find_sampler(target);
    if (!sampler || !sampler->agent || sampler->together_count == LIVE_TOGETHER)
        return;
    if (!sampler->together_count) {
        // Pages of the last sample may be in that exchange.
        live_sample_nothing(target);
        memset(sampler->together, 0, sizeof(sampler->together));
    }
    sampler->together[sampler->together_count] = sample->tid;
    fill_order(target, sample, ++sampler->together_count);
    sampler->order->kind = LIVE_ORDER_CALL;
    sampler->order->stops = stops;
    sampler->order->copies = copies;
    sampler->order->runs = runs;
    choose_exchange(sampler, 0);
}

void live_ask_together(struct target *target)
{
    const struct live *live = live_of(target);
    struct live_sampler *sampler = live->sampler;
    if (!sampler || !sampler->together_count)
        return;
    const size_t count = sampler->together_count;
    sampler->ready = sampler->copied_thread = 0;
    if (sampler->agent->give(sampler->agent->context, live->pid, 1, (uint32_t)count))
        sampler->late = sampler->agent->exchanges[count].delivery.late_count;
    else
        memset(sampler->together, 0, sizeof(sampler->together));
    sampler->together_count = 0;
}

/* Whether it was asked together with others; its exchange is chosen then. */
static bool find_told(struct live_sampler *sampler, int32_t tid)
{
    for (size_t i = 0; i < LIVE_TOGETHER; i++) {
        if (sampler->together[i] != tid)
            continue;
        sampler->together[i] = 0;
        sampler->ready = sampler->copied_thread = 0;
        choose_exchange(sampler, i + 1);
        return true;
    }
    return false;
}

static enum psc_status ask_call(struct target *target, const struct live_sample *sample, bool stops)
{
    struct live_sampler *sampler = live_of(target)->sampler;
    if (find_told(sampler, sample->tid))
        return (enum psc_status)sampler->delivery->status;
    fill_order(target, sample, 0);
    sampler->order->stops = stops;
    return give(live_of(target), LIVE_ORDER_CALL);
}

size_t live_ask_call(struct target *target, const struct live_sample *sample, bool stops,
                     char ret[256], uint64_t *ret_runs)
{
    struct live_sampler *sampler = find_sampler(target);
    ret[0] = '\0';
    *ret_runs = 0;
    if (!sampler)
        return 0;
    enum psc_status status = ask_call(target, sample, stops);
    const struct live_delivery *delivery = sampler->delivery;
    if (status == PSC_ERR_IO && !delivery->stopped)
        return 0;
    if (delivery->stopped || delivery->copied)
        live_sample_nothing(target);
    sampler->ready = delivery->stopped ? sample->tid : 0;
    sampler->copied_thread = delivery->copied ? sample->tid : 0;
    *ret_runs = delivery->runs;
    memcpy(ret, delivery->call, delivery->call_size + 1);
    return delivery->call_size;
}

/* What is in the delivery, when it runs again. */
static enum psc_status take_delivery(struct target *target, struct live_sample *sample,
                                     enum psc_status status, struct psc_error *err)
{
    const struct live_delivery *delivery = live_of(target)->sampler->delivery;
    struct target_thread *thread = &target->threads[0];
    sample->stood = delivery->stood;
    sample->suspended = delivery->suspended;
    if (status != PSC_OK && delivery->message[0])
        return psc_fail(err, status, "%s", delivery->message);
    if (status != PSC_OK)
        return status;
    *thread = (struct target_thread){.tid = sample->tid};
    parse_user_registers(target->machine, delivery->registers, &thread->registers,
                         &thread->thread_pointer);
    target->thread_count = 1;
    take_copied(live_of(target));
    return PSC_OK;
}

enum psc_status live_sample_thread(struct target *target, struct live_sample *sample,
                                   struct psc_error *err)
{
    struct live_sampler *sampler = find_sampler(target);
    if (!sampler)
        return psc_fail_memory(err);
    if (!target->threads && !(target->threads = calloc(1, sizeof(*target->threads))))
        return psc_fail_memory(err);
    live_sample_nothing(target);
    sample->suspended = false;
    sample->stood = 0;
    if (sampler->ready == sample->tid) {
        sampler->ready = 0;
        return take_delivery(target, sample, (enum psc_status)sampler->delivery->status, err);
    }
    if (sample->sleep && copy_asleep(target, sample))
        return PSC_OK;
    fill_order(target, sample, 0);
    return take_delivery(target, sample, give(live_of(target), LIVE_ORDER_STOP), err);
}

size_t live_sample_pages(const struct target *target, psc_addr *ret, size_t limit)
{
    const struct live *live = live_of(target);
    const struct live_sampler *sampler = live->sampler;
    size_t listed = 0, count = 0;
    psc_addr *pages PSC_CLEANUP(cleanup_free) = pages_list_wanted(&live->pages, &listed);
    for (size_t i = 0; pages && i < listed && count < limit; i++)
        if (!sampler || pages[i] < sampler->stack_start || pages[i] >= sampler->stack_end)
            ret[count++] = pages[i];
    return count;
}
