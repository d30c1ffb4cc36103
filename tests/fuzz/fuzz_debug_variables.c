/*
 * Hostile debug information: the input is an ELF file with DWARF. Every variable of every storage
 * is looked for in registers that lead anywhere, and shown.
 */
#include "test_modules_self.h"
#include "rendering.h"
#include "x86_64_registers.h"

#include <stdint.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BIAS   UINT64_C(0x10000)
#define PLACES 48u

struct asking {
    struct target *target;
    struct modules *modules;
    struct arena *arena;
    const struct debug_scopes *scopes;
    struct native_context context;
};

static bool enter(void *entry, const struct debug_expression *expression, uint64_t *ret)
{
    (void)entry;
    *ret = expression->count + BIAS;
    return expression->count & 1;
}

static void show(struct asking *asking, const struct debug_variable *variable, bool cython)
{
    struct native_value value;
    struct text text = {0};
    struct c_writer writer = {.target = asking->target,
                              .modules = asking->modules,
                              .arena = asking->arena,
                              .text = &text,
                              .cython = cython};
    struct native_evaluation evaluation = {
        .context = &asking->context, .frame_base = asking->scopes->frame_base, .enter = enter};
    if (!variable->location || !variable->type ||
        native_locate(asking->target, &evaluation, variable->location, variable->type->size,
                      &value) != NATIVE_LOCATION_FOUND)
        return;
    if (value.size > NATIVE_VALUE_LIMIT)
        abort();
    struct c_storage storage = {value.in_memory ? NULL : &value,
                                value.in_memory ? value.address : 0};
    c_write_value(&writer, variable->type, storage);
    if (text.size > 16 * 2000)
        abort();
    text_deinit(&text);
}

static void ask(struct asking *asking, struct module *module, psc_addr address)
{
    uint64_t value;
    asking->scopes = module_find_variables(module, address);
    for (size_t i = 0; asking->scopes && i < asking->scopes->count; i++)
        for (size_t v = 0; v < asking->scopes->items[i].count; v++) {
            show(asking, &asking->scopes->items[i].variables[v], v & 1);
            cython_variable_name(asking->scopes->items[i].variables[v].name, asking->arena);
        }
    const struct debug_call_site *site = module_find_call_site(module, address);
    struct native_evaluation evaluation = {.context = &asking->context};
    for (size_t i = 0; site && i < site->count; i++)
        if (native_evaluate(asking->target, &evaluation, site->parameters[i].value, &value) >
            NATIVE_LOCATION_UNSUPPORTED)
            abort();
}

static void ask_all(struct target *target, size_t size)
{
    struct asking asking = {.target = target, .arena = arena_create()};
    if (modules_create(target, &asking.modules, NULL) != PSC_OK)
        asking.modules = NULL;
    asking.context.known = (1u << X86_COUNT) - 1;
    asking.context.cfa = BIAS + size / 2;
    for (size_t i = 0; i < X86_COUNT; i++)
        asking.context.registers.value[i] = BIAS + size * i / X86_COUNT;
    for (size_t i = 0; asking.modules && i < PLACES; i++) {
        // Code lies in the second page of what gcc links.
        psc_addr address = BIAS + 0x1000 + i * 23;
        struct module *module = modules_find(asking.modules, address);
        if (module)
            ask(&asking, module, address);
    }
    modules_destroy(asking.modules);
    arena_destroy(asking.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    if (size < 64)
        return 0;
    int file = memfd_create("module", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    struct target *target = self_open_file(path, BIAS);
    if (target) {
        ask_all(target, size);
        target_close(target);
    }
    close(file);
    return 0;
}
