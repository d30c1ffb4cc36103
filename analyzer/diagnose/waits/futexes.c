/*
 * What a thread sleeps in that sleeps on a futex of the C library's: by the function that it
 * called, and by what lies around the word. glibc 2.31 to 2.43, sysdeps/nptl/bits/struct_mutex.h
 * and struct_rwlock.h, nptl/pthreadP.h, sysdeps/nptl/internaltypes.h.
 */
#include "waits_private.h"

#include <inttypes.h>
#include <string.h>

/* include/uapi/linux/futex.h */
#define FUTEX_COMMAND  0x7fu
#define FUTEX_PRIVATE  0x80u
#define FUTEX_WAIT     0u
#define FUTEX_LOCK_PI  6u
#define FUTEX_BITSET   9u
#define FUTEX_TID_MASK 0x3fffffffu

/* struct __pthread_mutex_s: offsets from its lock word; bits of __kind. */
#define MUTEX_OWNER     8
#define MUTEX_KIND      16
#define MUTEX_ROBUST    0x10u
#define MUTEX_PI        0x20u
#define MUTEX_SHARED    0x80u
#define MUTEX_KIND_BITS 0x3ffu
#define MUTEX_CONTENDED 2u
/* struct __pthread_rwlock_arch_t: its readers' word, and the writer, from the two futexes in it. */
#define RWLOCK_WRITER     24
#define RWLOCK_PHASE      8
#define RWLOCK_WRITERS    12
#define RWLOCK_READER_BIT 3u
/* struct pthread_barrier: current_round. */
#define BARRIER_ROUND 4u

/* Frames of the C library on top of the one that was called. */
#define CALL_DEPTH 8u

/** A function of the C library that sleeps, without the underscores before its name. */
struct sleeping_function {
    const char *name;
    enum trace_wait_kind kind;
    bool family; /**< All whose names begin so. */
};

static const struct sleeping_function functions[] = {
    {"pthread_mutex_", TRACE_WAIT_MUTEX, true},
    {"mtx_lock", TRACE_WAIT_MUTEX, false},
    {"mtx_timedlock", TRACE_WAIT_MUTEX, false},
    {"pthread_cond_", TRACE_WAIT_CONDITION, true},
    {"cnd_wait", TRACE_WAIT_CONDITION, false},
    {"cnd_timedwait", TRACE_WAIT_CONDITION, false},
    {"pthread_rwlock_", TRACE_WAIT_RWLOCK, true},
    {"pthread_barrier_wait", TRACE_WAIT_BARRIER, false},
    {"sem_wait", TRACE_WAIT_SEMAPHORE, false},
    {"sem_timedwait", TRACE_WAIT_SEMAPHORE, false},
    {"sem_clockwait", TRACE_WAIT_SEMAPHORE, false},
    {"new_sem_", TRACE_WAIT_SEMAPHORE, true},
    {"old_sem_", TRACE_WAIT_SEMAPHORE, true},
    {"pthread_join", TRACE_WAIT_JOIN, false},
    {"pthread_timedjoin_np", TRACE_WAIT_JOIN, false},
    {"pthread_clockjoin_", TRACE_WAIT_JOIN, true},
    {"thrd_join", TRACE_WAIT_JOIN, false},
    {"malloc", TRACE_WAIT_MALLOC_LOCK, false},
    {"calloc", TRACE_WAIT_MALLOC_LOCK, false},
    {"realloc", TRACE_WAIT_MALLOC_LOCK, false},
    {"free", TRACE_WAIT_MALLOC_LOCK, false},
    {"cfree", TRACE_WAIT_MALLOC_LOCK, false},
    {"posix_memalign", TRACE_WAIT_MALLOC_LOCK, false},
    {"aligned_alloc", TRACE_WAIT_MALLOC_LOCK, false},
    {"malloc_trim", TRACE_WAIT_MALLOC_LOCK, false},
    {"libc_malloc", TRACE_WAIT_MALLOC_LOCK, false},
    {"libc_free", TRACE_WAIT_MALLOC_LOCK, false},
    {"dlopen", TRACE_WAIT_LOADER_LOCK, false},
    {"dlclose", TRACE_WAIT_LOADER_LOCK, false},
    {"dlsym", TRACE_WAIT_LOADER_LOCK, false},
    {"dl_iterate_phdr", TRACE_WAIT_LOADER_LOCK, false},
    {"tls_get_addr", TRACE_WAIT_LOADER_LOCK, false},
    {"dl_open", TRACE_WAIT_LOADER_LOCK, false},
    {"dl_close", TRACE_WAIT_LOADER_LOCK, false},
    {"dl_fini", TRACE_WAIT_LOADER_LOCK, false},
};

/* glibc's functions have underscores before their names, and "GI_" within libc itself. */
static const char *skip_prefix(const char *symbol)
{
    symbol += strspn(symbol, "_");
    if (!strncmp(symbol, "GI_", 3))
        symbol += 3;
    return symbol + strspn(symbol, "_");
}

/* Versions may be behind a name; of families, the names of what their functions are made of. */
static bool is_function(const char *symbol, const struct sleeping_function *function)
{
    size_t size = strlen(function->name);
    symbol = skip_prefix(symbol);
    return !strncmp(symbol, function->name, size) &&
           (function->family || !symbol[size] || symbol[size] == '@');
}

static const struct sleeping_function *find_function(const struct trace_thread *thread)
{
    for (size_t i = 0; i < thread->frame_count && i < CALL_DEPTH; i++) {
        const struct trace_location *location = thread->frames[i].location;
        const char *symbol = location->symbol ? location->symbol : location->function;
        if (location->kind != TRACE_NATIVE)
            return NULL;
        for (size_t k = 0; symbol && k < PSC_ARRAY_SIZE(functions); k++)
            if (is_function(symbol, &functions[k]))
                return &functions[k];
    }
    return NULL;
}

/* Another process's, where processes share the lock; or one that was not copied by fork(). */
static void take_far_owner(struct wait_maker *maker, uint32_t tid, bool shared)
{
    struct trace_wait *wait = &maker->wait;
    struct arena *arena = maker->trace->arena;
    int32_t parent = 0;
    int32_t process = maker->system ? system_find_process(maker->system, (int32_t)tid, &parent) : 0;
    if (process && shared) {
        wait->owner_tid = (int32_t)tid;
        wait->owner_pid = process;
        wait->owner_certain = true;
    } else if (process && process == parent) {
        wait->owner_text =
            arena_printf(arena, "held since fork() by thread %" PRIu32 " of the parent, process %d",
                         tid, process);
    } else {
        wait->owner_text =
            arena_printf(arena, "held by thread %" PRIu32 ", which is not in this process", tid);
    }
}

static void take_owner(struct wait_maker *maker, uint32_t inner_tid, bool shared)
{
    struct trace_wait *wait = &maker->wait;
    const struct wait_facts *owner = waits_find_inner(maker->waits, inner_tid);
    if (owner) {
        wait->owner_tid = (int32_t)owner->tid;
        wait->owner_certain = true;
    } else if (inner_tid && !maker->trace->unwanted_threads) {
        take_far_owner(maker, inner_tid, shared);
    }
}

static void set(struct wait_maker *maker, enum trace_wait_kind kind, const char *object,
                psc_addr address, const char *known_by)
{
    maker->wait.kind = kind;
    maker->wait.object = object;
    maker->wait.address = address;
    maker->wait.has_address = true;
    maker->wait.known_by = known_by;
}

static uint32_t get_command(const struct wait_facts *facts)
{
    return (uint32_t)facts->arguments[1] & FUTEX_COMMAND;
}

/* The C library keeps to itself what is not shared (FUTEX_PRIVATE_FLAG), but for robust ones. */
static bool is_shared(const struct wait_facts *facts)
{
    return !((uint32_t)facts->arguments[1] & FUTEX_PRIVATE) &&
           !(waits_word(facts, MUTEX_KIND) & MUTEX_ROBUST);
}

static const char *name_mutex(uint32_t kind)
{
    if (kind & MUTEX_ROBUST)
        return "a robust pthread mutex";
    if (kind & MUTEX_PI)
        return "a pthread mutex with priority inheritance";
    if (kind & MUTEX_SHARED)
        return "a pthread mutex that processes share";
    return (kind & 3) == 1 ? "a recursive pthread mutex" : "a pthread mutex";
}

/* Where the word itself has the owner, and where a member behind it has. */
static uint32_t find_mutex_owner(const struct wait_facts *facts)
{
    uint32_t kind = waits_word(facts, MUTEX_KIND);
    uint32_t word = waits_word(facts, 0);
    if (kind & (MUTEX_ROBUST | MUTEX_PI))
        return word & FUTEX_TID_MASK;
    return word == MUTEX_CONTENDED ? waits_word(facts, MUTEX_OWNER) : 0;
}

/*
 * By memory alone: a word that says "contended", an owner that is a thread here, and a kind that
 * there is. Of a mutex that nobody has, and of a bare lock, nothing tells what it is.
 */
static bool looks_like_mutex(const struct wait_maker *maker)
{
    const struct wait_facts *facts = maker->facts;
    uint32_t kind = waits_word(facts, MUTEX_KIND);
    uint32_t command = get_command(facts);
    if (!facts->has_window || (kind & ~MUTEX_KIND_BITS) || command == FUTEX_BITSET)
        return false;
    bool in_word = kind & (MUTEX_ROBUST | MUTEX_PI);
    if (in_word != (command != FUTEX_WAIT || facts->arguments[2] != MUTEX_CONTENDED))
        return false;
    return waits_find_inner(maker->waits, find_mutex_owner(facts));
}

static void describe_mutex(struct wait_maker *maker, const char *known_by)
{
    const struct wait_facts *facts = maker->facts;
    set(maker, TRACE_WAIT_MUTEX, name_mutex(waits_word(facts, MUTEX_KIND)), facts->arguments[0],
        known_by);
    take_owner(maker, find_mutex_owner(facts), is_shared(facts));
}

/* A FILE's lock: {int lock, cnt; void *owner}, the owner is the holder's struct pthread. */
static bool describe_stdio(struct wait_maker *maker)
{
    const struct wait_facts *facts = maker->facts;
    const struct wait_facts *owner = waits_find_pointer(maker->waits, waits_long(facts, 8));
    if (get_command(facts) != FUTEX_WAIT || waits_word(facts, 0) != MUTEX_CONTENDED || !owner)
        return false;
    set(maker, TRACE_WAIT_STDIO_LOCK, "the lock of a stdio stream", facts->arguments[0],
        "the thread that the lock names");
    maker->wait.owner_tid = (int32_t)owner->tid;
    maker->wait.owner_certain = true;
    return true;
}

static void describe_join(struct wait_maker *maker, const struct wait_facts *joined,
                          const char *known_by)
{
    const char *name = NULL;
    for (size_t i = 0; i < maker->trace->thread_count; i++)
        if (maker->trace->threads[i].tid == (int32_t)joined->tid)
            name = maker->trace->threads[i].name;
    const char *object =
        name ? arena_printf(maker->trace->arena, "the end of thread %" PRIu64 " \"%s\"",
                            joined->tid, name)
             : arena_printf(maker->trace->arena, "the end of thread %" PRIu64, joined->tid);
    set(maker, TRACE_WAIT_JOIN, object, joined->thread_pointer, known_by);
    maker->wait.owner_tid = (int32_t)joined->tid;
    maker->wait.owner_certain = true;
}

/* pthread_join() sleeps on a member of the other's struct pthread; nobody else does. */
static bool find_join(struct wait_maker *maker)
{
    const struct wait_facts *facts = maker->facts;
    const struct target_machine *machine = maker->waits->input.target->machine;
    /* glibc 2.43, nptl/descr.h: joinstate, which 2.43 sleeps on; the id before. */
    static const uint16_t join_state = 1576;
    psc_addr address = facts->arguments[0];
    const struct wait_facts *joined =
        waits_find_pointer(maker->waits, address - machine->pthread_tid);
    if (!joined)
        joined = waits_find_pointer(maker->waits, address - join_state);
    if (joined && joined != facts)
        describe_join(maker, joined, "the thread's own block, which it sleeps on");
    return joined && joined != facts;
}

static void describe_rwlock(struct wait_maker *maker)
{
    const struct wait_facts *facts = maker->facts;
    // A waiter sleeps on the phase, or in the queue of writers.
    int offset = waits_word(facts, RWLOCK_WRITER - RWLOCK_PHASE) ||
                         !waits_word(facts, RWLOCK_WRITER - RWLOCK_WRITERS)
                     ? RWLOCK_PHASE
                     : RWLOCK_WRITERS;
    uint32_t writer = waits_word(facts, RWLOCK_WRITER - offset);
    uint32_t readers = waits_word(facts, -offset) >> RWLOCK_READER_BIT;
    const char *object = "a pthread rwlock";
    if (!writer && readers)
        object = arena_printf(maker->trace->arena, "a pthread rwlock that %" PRIu32 " reader%s",
                              readers, readers == 1 ? " has" : "s have");
    set(maker, TRACE_WAIT_RWLOCK, object, facts->arguments[0] - (unsigned)offset,
        "the function that it called");
    take_owner(maker, writer, is_shared(facts));
}

static void describe_other(struct wait_maker *maker, const struct sleeping_function *function)
{
    static const char *const titles[TRACE_WAIT_KINDS] = {
        [TRACE_WAIT_CONDITION] = "a pthread condition",
        [TRACE_WAIT_BARRIER] = "a pthread barrier",
        [TRACE_WAIT_SEMAPHORE] = "a POSIX semaphore",
        [TRACE_WAIT_JOIN] = "the end of a thread",
        [TRACE_WAIT_MALLOC_LOCK] = "malloc's lock",
        [TRACE_WAIT_LOADER_LOCK] = "the loader's lock",
    };
    bool condition = function->kind == TRACE_WAIT_CONDITION;
    // A barrier's futex is its second word.
    psc_addr address = condition ? maker->facts->condition
                                 : maker->facts->arguments[0] -
                                       (function->kind == TRACE_WAIT_BARRIER ? BARRIER_ROUND : 0);
    set(maker, function->kind, titles[function->kind], address, "the function that it called");
    maker->wait.has_address = !condition || address;
}

/* The loader's lock is a recursive mutex, malloc's a bare word. */
static void describe_function(struct wait_maker *maker, const struct sleeping_function *function)
{
    if (function->kind == TRACE_WAIT_MUTEX)
        describe_mutex(maker, "the function that it called, and the mutex's memory");
    else if (function->kind == TRACE_WAIT_RWLOCK)
        describe_rwlock(maker);
    else
        describe_other(maker, function);
}

bool waits_is_kind_of_function(const struct trace_location *location, enum trace_wait_kind kind)
{
    const char *symbol = location->symbol ? location->symbol : location->function;
    for (size_t k = 0; symbol && k < PSC_ARRAY_SIZE(functions); k++)
        if (functions[k].kind == kind && is_function(symbol, &functions[k]))
            return true;
    return false;
}

/* A mutex further in than dlopen() and so on. */
static bool is_in_loader(const struct trace_thread *thread)
{
    for (size_t i = 0; i < thread->frame_count && i < (size_t)2 * CALL_DEPTH; i++) {
        const struct trace_location *location = thread->frames[i].location;
        if (location->kind != TRACE_NATIVE)
            return false;
        if (waits_is_kind_of_function(location, TRACE_WAIT_LOADER_LOCK))
            return true;
    }
    return false;
}

bool waits_is_for_imports(const struct trace_thread *thread)
{
    for (size_t i = 0; i < thread->frame_count && i < (size_t)2 * CALL_DEPTH; i++) {
        const struct trace_location *location = thread->frames[i].location;
        const char *symbol = location->symbol ? location->symbol : location->function;
        if (location->kind != TRACE_NATIVE)
            return false;
        if (symbol && python_takes_import_lock(symbol))
            return true;
    }
    return false;
}

void waits_describe_futex(struct wait_maker *maker)
{
    const struct sleeping_function *function = find_function(maker->thread);
    if (find_join(maker))
        return;
    if (function)
        describe_function(maker, function);
    else if (looks_like_mutex(maker))
        describe_mutex(maker, "the mutex's memory");
    else if (!describe_stdio(maker))
        set(maker, TRACE_WAIT_FUTEX, "a futex", maker->facts->arguments[0],
            "the system call that it is in");
    if (maker->wait.kind == TRACE_WAIT_MUTEX && is_in_loader(maker->thread)) {
        maker->wait.kind = TRACE_WAIT_LOADER_LOCK;
        maker->wait.object = "the loader's lock";
    } else if (maker->wait.kind == TRACE_WAIT_SEMAPHORE && waits_is_for_imports(maker->thread)) {
        set(maker, TRACE_WAIT_IMPORT_LOCK, WAITS_IMPORT_LOCK, maker->facts->arguments[0],
            "the function that it called");
    }
}
