/* A target behind callbacks: what is asked of the debugger, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "debugger.h"
#include "target.h"
#include "x86_64_registers.h"

#define START ((psc_addr)0x10000)
#define PAGES 40

struct memory {
    uint8_t bytes[PAGES * 4096];
    psc_addr hole; /* A page that cannot be read; 0: none. */
    size_t calls;
    size_t largest;
};

static struct memory memory;

static size_t read_memory(void *context, psc_addr address, void *buffer, size_t size)
{
    struct memory *from = context;
    from->calls++;
    if (size > from->largest)
        from->largest = size;
    assert_true(address >= START && address + size <= START + sizeof(from->bytes));
    if (from->hole >= address && from->hole < address + size)
        size = (size_t)(from->hole - address);
    memcpy(buffer, from->bytes + (address - START), size);
    return size;
}

static const uint32_t known = PSC_DEBUGGER_READ | PSC_DEBUGGER_PERMISSIONS_KNOWN;

static const struct psc_debugger_mapping mappings[] = {
    {.start = START + 0x20000, .end = START + sizeof(memory.bytes), .permissions = known},
    {.start = START, .end = START + 0x20000, .path = "/lib/a.so (deleted)", .permissions = known},
    {.start = START + 0x1000, .end = START + 0x2000, .path = "/lib/overlaps.so"},
    {.start = 0x900000, .end = 0x900000},
    {.start = 0x7000000, .end = 0x7001000, .path = "[stack]", .offset = 7},
    {.start = 0x8000000, .end = 0x8001000, .path = "/lib/a.so (deleted)", .offset = 4096},
};

static const uint64_t zeros[X86_RIP + 1];
static const uint64_t registers[X86_RIP + 1] = {[X86_RIP] = 0x333};
#define REGISTERS(values) .registers = (values), .register_count = PSC_ARRAY_SIZE(values)

static const struct psc_debugger_thread threads[] = {
    {.tid = 11, .thread_pointer = 0x111, REGISTERS(zeros), .name = "one"},
    {.tid = 12, .crashed = 1, .thread_pointer = 0x222, REGISTERS(registers)},
};

static struct psc_debugger make_debugger(void)
{
    memory.calls = memory.largest = 0;
    memory.hole = 0;
    for (size_t i = 0; i < sizeof(memory.bytes); i++)
        memory.bytes[i] = (uint8_t)(i >> 8 ^ i);
    return (struct psc_debugger){
        .size = sizeof(struct psc_debugger),
        .pid = 11,
        .read = read_memory,
        .context = &memory,
        .mappings = mappings,
        .mapping_count = PSC_ARRAY_SIZE(mappings),
        .mapping_size = sizeof(mappings[0]),
        .threads = threads,
        .thread_count = PSC_ARRAY_SIZE(threads),
        .thread_size = sizeof(threads[0]),
        .signal_number = 11,
        .signal_code = 1,
        .fault_address = 0x444,
    };
}

static struct target *open_debugger(const struct psc_debugger *debugger)
{
    struct psc_error err = {0};
    struct target *target = NULL;
    if (debugger_open(debugger, NULL, NULL, &target, &err) != PSC_OK)
        fail_msg("%s", err.message);
    return target;
}

static void what_the_host_tells_is_kept(void **state)
{
    (void)state;
    struct psc_debugger debugger = make_debugger();
    struct target *target = open_debugger(&debugger);
    assert_int_equal(target->kind, TARGET_DEBUGGER);
    assert_int_equal(target->thread_count, 2);
    assert_int_equal(target->threads[0].tid, 12);
    assert_true(target->threads[0].crashed);
    assert_int_equal(target->threads[0].registers.value[X86_RIP], 0x333);
    assert_string_equal(target->threads[1].name, "one");
    assert_int_equal(target->process.signal.address, 0x444);
    assert_true(target->process.signal.has_address);
    assert_false(target->process.signal.has_sender);

    // Sorted, without the empty one and the one that lies over another.
    assert_int_equal(target->mapping_count, 4);
    assert_int_equal(target->mappings[0].start, START);
    assert_string_equal(target->mappings[0].file->path, "/lib/a.so");
    assert_true(target->mappings[0].file->deleted);
    assert_true(target->mappings[0].permissions_known);
    assert_null(target->mappings[2].file);
    assert_ptr_equal(target->mappings[3].file, target->mappings[0].file);
    assert_int_equal(memory.calls, 0);
    target_close(target);
}

static void pages_are_asked_for_once(void **state)
{
    (void)state;
    struct psc_debugger debugger = make_debugger();
    struct target *target = open_debugger(&debugger);
    uint8_t bytes[16];
    for (size_t at = 0; at < 4096 - 16; at++) {
        assert_int_equal(target_read(target, START + at, bytes, 16), PSC_OK);
        assert_memory_equal(bytes, memory.bytes + at, 16);
    }
    assert_int_equal(memory.calls, 1);
    // Over the border, and then on in order: the following pages come together.
    assert_int_equal(target_read(target, START + 4088, bytes, 16), PSC_OK);
    assert_memory_equal(bytes, memory.bytes + 4088, 16);
    assert_int_equal(memory.calls, 2);
    assert_int_equal(memory.largest, 65536);
    uint8_t all[20 * 4096];
    assert_int_equal(target_read(target, START, all, sizeof(all)), PSC_OK);
    assert_memory_equal(all, memory.bytes, sizeof(all));
    assert_true(memory.calls <= 3);
    target_close(target);
}

static void a_hint_fetches_in_runs(void **state)
{
    (void)state;
    struct psc_debugger debugger = make_debugger();
    struct target *target = open_debugger(&debugger);
    uint8_t bytes[8];
    target_prefetch(target, START + 100, 0x18000);
    size_t calls = memory.calls;
    assert_true(calls <= 2);
    for (size_t at = 0; at < 0x18000; at += 4096)
        assert_int_equal(target_read(target, START + at, bytes, 8), PSC_OK);
    assert_int_equal(memory.calls, calls);
    target_prefetch(target, 0x123, 4096); // Nothing is there.
    assert_int_equal(memory.calls, calls);
    target_close(target);
}

static void what_cannot_be_read_is_a_fault(void **state)
{
    (void)state;
    struct psc_debugger debugger = make_debugger();
    struct target *target = open_debugger(&debugger);
    uint8_t bytes[16];
    memory.hole = START + 0x3000;
    target_prefetch(target, START, 0x8000);
    assert_int_equal(target_read(target, START + 0x2ff8, bytes, 8), PSC_OK);
    assert_int_equal(target_read(target, START + 0x2ff8, bytes, 16), PSC_ERR_FAULT);
    assert_int_equal(target_read(target, START + 0x4000, bytes, 8), PSC_OK);
    assert_memory_equal(bytes, memory.bytes + 0x4000, 8);
    size_t calls = memory.calls;
    assert_int_equal(target_read(target, START + 0x3010, bytes, 8), PSC_ERR_FAULT);
    // Outside the mappings the debugger is not even asked.
    assert_int_equal(target_read(target, START + sizeof(memory.bytes), bytes, 8), PSC_ERR_FAULT);
    assert_int_equal(target_read(target, UINT64_MAX - 3, bytes, 8), PSC_ERR_FAULT);
    assert_int_equal(memory.calls, calls);
    target_close(target);
}

static void memory_can_be_a_file(void **state)
{
    (void)state;
    const uint64_t here = UINT64_C(0x1122334455667788);
    psc_addr address = (psc_addr)(uintptr_t)&here;
    const struct psc_debugger_mapping around = {.start = address & ~(psc_addr)4095,
                                                .end = (address & ~(psc_addr)4095) + 8192};
    struct psc_debugger debugger = make_debugger();
    debugger.read = NULL;
    debugger.memory_path = "/proc/self/mem";
    debugger.mappings = &around;
    debugger.mapping_count = 1;
    struct target *target = open_debugger(&debugger);
    uint64_t word;
    assert_int_equal(target_read_u64(target, address, &word), PSC_OK);
    assert_int_equal(word, here);
    target_close(target);
}

static void thread_pointers_are_found(void **state)
{
    (void)state;
    struct psc_debugger debugger = make_debugger();
    const struct psc_debugger_mapping writable = {
        .start = START,
        .end = START + sizeof(memory.bytes),
        .permissions = known | PSC_DEBUGGER_WRITE,
    };
    const struct psc_debugger_thread unknown[] = {{.tid = 21, REGISTERS(zeros)},
                                                  {.tid = 22, REGISTERS(zeros)},
                                                  {.tid = 23, REGISTERS(zeros)}};
    // glibc: the block points to itself twice; the thread's id is at 720.
    const struct {
        size_t at;
        uint64_t self;
        uint32_t tid;
    } blocks[] = {{0x700, 0, 21}, {0x9000, 8, 22}, {sizeof(memory.bytes) - 736, 0, 23}};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(blocks); i++) {
        uint64_t self = START + blocks[i].at, other = self + blocks[i].self;
        memcpy(memory.bytes + blocks[i].at, &self, 8);
        memcpy(memory.bytes + blocks[i].at + 16, &other, 8);
        memcpy(memory.bytes + blocks[i].at + 720, &blocks[i].tid, 4);
    }
    debugger.mappings = &writable;
    debugger.mapping_count = 1;
    debugger.threads = unknown;
    debugger.thread_count = 3;
    struct target *target = open_debugger(&debugger);
    assert_int_equal(target->threads[0].thread_pointer, START + 0x700);
    assert_int_equal(target->threads[1].thread_pointer, 0);
    assert_int_equal(target->threads[2].thread_pointer, START + sizeof(memory.bytes) - 736);
    target_close(target);
}

static void unusable_hosts_are_refused(void **state)
{
    (void)state;
    struct psc_error err = {0};
    struct target *target;
    struct psc_debugger debugger = make_debugger();
    debugger.read = NULL;
    assert_int_equal(debugger_open(&debugger, NULL, NULL, &target, &err), PSC_ERR_ARGUMENT);
    debugger.memory_path = "/nonexistent/mem";
    assert_int_equal(debugger_open(&debugger, NULL, NULL, &target, &err), PSC_ERR_IO);
    debugger = make_debugger();
    debugger.mapping_count = 0;
    assert_int_equal(debugger_open(&debugger, NULL, NULL, &target, &err), PSC_ERR_ARGUMENT);
    debugger = make_debugger();
    debugger.threads = NULL;
    assert_int_equal(debugger_open(&debugger, NULL, NULL, &target, &err), PSC_ERR_ARGUMENT);
    // Through the public door: a struct from a newer header that says more than is understood.
    struct {
        struct psc_debugger debugger;
        uint64_t unknown;
    } newer = {make_debugger(), 1};
    struct psc_target *opened;
    newer.debugger.size = sizeof(newer);
    assert_int_equal(psc_open_debugger(&newer.debugger, NULL, NULL, &opened, &err),
                     PSC_ERR_ARGUMENT);
    newer.unknown = 0;
    assert_int_equal(psc_open_debugger(&newer.debugger, NULL, NULL, &opened, &err), PSC_OK);
    psc_close(opened);
}

static void another_machine_is_refused(void **state)
{
    (void)state;
    struct psc_error err = {0};
    struct target *target;
    struct psc_debugger debugger = make_debugger();
    debugger.machine = EM_X86_64;
    target = open_debugger(&debugger);
    assert_int_equal(target->machine->elf_machine, EM_X86_64);
    target_close(target);
    const uint32_t others[] = {EM_AARCH64, 0x10000 | EM_X86_64};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(others); i++) {
        debugger.machine = others[i];
        assert_int_equal(debugger_open(&debugger, NULL, NULL, &target, &err), PSC_ERR_UNSUPPORTED);
    }
    assert_non_null(strstr(err.message, "only x86-64 is handled"));

    const uint64_t many[33] = {0};
    const struct psc_debugger_thread wrong[] = {
        {.tid = 31, REGISTERS(many)},
        {.tid = 32},
        {.tid = 33, .register_count = X86_RIP + 1},
    };
    const char *const sentences[] = {
        "a debugger that tells 33 registers of thread 31; x86-64 has 17",
        "a debugger that tells 0 registers of thread 32; x86-64 has 17",
        "a debugger that tells 0 registers of thread 33; x86-64 has 17",
    };
    debugger = make_debugger();
    debugger.thread_count = 1;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(wrong); i++) {
        debugger.threads = &wrong[i];
        assert_int_equal(debugger_open(&debugger, NULL, NULL, &target, &err), PSC_ERR_ARGUMENT);
        assert_string_equal(err.message, sentences[i]);
    }
}

/* Of another version, which knows more of them. */
static void larger_items_are_taken_by_their_size(void **state)
{
    (void)state;
    struct psc_error err = {0};
    struct psc_target *opened;
    struct {
        struct psc_debugger_thread thread;
        uint64_t unknown;
    } larger[] = {{threads[0], 0}, {threads[1], 0}};
    struct psc_debugger debugger = make_debugger();
    debugger.threads = &larger[0].thread;
    debugger.thread_size = sizeof(larger[0]);
    struct target *target = open_debugger(&debugger);
    assert_int_equal(target->threads[0].tid, 12);
    assert_int_equal(target->threads[1].tid, 11);
    target_close(target);
    assert_int_equal(psc_open_debugger(&debugger, NULL, NULL, &opened, &err), PSC_OK);
    psc_close(opened);
    larger[1].unknown = 1;
    assert_int_equal(psc_open_debugger(&debugger, NULL, NULL, &opened, &err), PSC_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "struct psc_debugger_thread has"));

    debugger = make_debugger();
    debugger.mapping_size = sizeof(mappings[0]) - 8;
    assert_int_equal(psc_open_debugger(&debugger, NULL, NULL, &opened, &err), PSC_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "struct psc_debugger_mapping: its size is"));
    debugger.mapping_size = debugger.thread_size = 0;
    assert_int_equal(psc_open_debugger(&debugger, NULL, NULL, &opened, &err), PSC_OK);
    psc_close(opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_host_tells_is_kept),
        cmocka_unit_test(pages_are_asked_for_once),
        cmocka_unit_test(a_hint_fetches_in_runs),
        cmocka_unit_test(what_cannot_be_read_is_a_fault),
        cmocka_unit_test(memory_can_be_a_file),
        cmocka_unit_test(thread_pointers_are_found),
        cmocka_unit_test(unusable_hosts_are_refused),
        cmocka_unit_test(another_machine_is_refused),
        cmocka_unit_test(larger_items_are_taken_by_their_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
