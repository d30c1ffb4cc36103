/* Variables of the environment, as it is now, or as it was when the process began. */
#include "running_private.h"

#include <stdlib.h>
#include <string.h>

/* Variables that are looked at. */
#define VARIABLE_COUNT_LIMIT ((size_t)20000)
/* Longer than each name of the list. */
#define NAME_SIZE ((size_t)64)

/* Of all machines, the smallest. */
#define PAGE_SIZE_LEAST ((size_t)4096)

/* ---- strings ---- */

static bool is_known(const struct running_variables *variables, const char *name, size_t size)
{
    for (size_t i = 0; i < variables->count; i++)
        if (!strncmp(variables->items[i].name, name, size) && !variables->items[i].name[size])
            return true;
    return false;
}

/* Where a variable ends in "NAME=VALUE", if it is one to be shown that is not there: getenv(3)
 * takes the first. 0: it is not. */
static size_t wanted_name(const struct running_variables *variables, const char *text, size_t size)
{
    const char *equals = memchr(text, '=', size);
    size_t length = equals ? (size_t)(equals - text) : 0;
    return length && running_shows_variable(text, length) && !is_known(variables, text, length)
               ? length
               : 0;
}

/* Without memory one is missing, and the arena says so. */
static void add(struct running_variables *variables, const struct trace_variable *variable)
{
    if (variable->name && variable->value &&
        array_reserve(&variables->items, &variables->capacity, variables->count + 1,
                      sizeof(*variables->items)))
        variables->items[variables->count++] = *variable;
}

void parse_environment(const char *text, size_t size, struct arena *arena,
                       struct running_variables *ret)
{
    for (size_t at = 0, count = 0; at < size && count < VARIABLE_COUNT_LIMIT; count++) {
        const char *string = text + at;
        size_t length = strnlen(string, size - at);
        size_t name = wanted_name(ret, string, length);
        size_t value = name ? length - name - 1 : 0;
        bool cut = value > TRACE_VARIABLE_LIMIT;
        if (name)
            add(ret,
                &(struct trace_variable){.name = arena_strndup(arena, string, name),
                                         .value = arena_strndup(arena, string + name + 1,
                                                                cut ? TRACE_VARIABLE_LIMIT : value),
                                         .cut = cut});
        at += length + 1;
    }
}

/* ---- memory ---- */

/*
 * Up to `size` bytes, or to a zero: what was read before is at hand. The page behind a string need
 * not be there, and is not asked for.
 */
static size_t read_bytes(struct target *target, psc_addr address, char *ret, size_t size)
{
    size_t done = 0;
    while (done < size) {
        size_t here = PAGE_SIZE_LEAST - (address + done) % PAGE_SIZE_LEAST;
        size_t piece = size - done < here ? size - done : here;
        target_begin_text(target);
        size_t got = target_read_some(target, address + done, ret + done, piece);
        target_end_text(target);
        if (got < piece || memchr(ret + done, 0, got))
            return done + got;
        done += got;
    }
    return done;
}

/* The string at an address, if it is wanted; false when there is none. */
static bool read_variable(struct target *target, psc_addr address, struct arena *arena,
                          struct running_variables *ret)
{
    char text[NAME_SIZE + TRACE_VARIABLE_LIMIT + 2];
    size_t size = read_bytes(target, address, text, NAME_SIZE);
    if (!size)
        return false;
    size_t length = strnlen(text, size);
    size_t name = wanted_name(ret, text, length);
    if (name && length == size) {
        size += read_bytes(target, address + size, text + size, sizeof(text) - size);
        length = strnlen(text, size);
    }
    // What does not end cannot be read to its end, but for one that is too long.
    if (name && (length < size || length - name - 1 > TRACE_VARIABLE_LIMIT))
        parse_environment(text, length, arena, ret);
    return true;
}

/* An array of pointers, the last of which is NULL; false when not even the first can be read. */
static bool read_array(struct target *target, psc_addr array, struct arena *arena,
                       struct running_variables *ret)
{
    psc_addr string = 0;
    for (size_t i = 0; i < VARIABLE_COUNT_LIMIT; i++) {
        if (target_read_pointer(target, array + 8 * i, &string) != PSC_OK)
            return i > 0;
        if (!string)
            return true;
        if (!read_variable(target, string, arena, ret) && !i)
            return false;
    }
    return true;
}

/* ---- where it is ---- */

/*
 * glibc and musl both say `environ`, a weak name of `__environ`. A program that is linked
 * statically has it among its other symbols, if at all.
 */
static bool find_symbol(struct module *module, bool is_static, psc_addr *ret)
{
    static const char *const names[] = {"environ", "__environ"};
    struct module_symbol symbol;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++) {
        if (is_static ? !module_find_symbol_named(module, names[i], &symbol)
                      : !module_find_exported(module, names[i], &symbol))
            continue;
        *ret = symbol.address;
        return true;
    }
    return false;
}

/* "libc.so.6", "libc-2.31.so", musl's "ld-musl-x86_64.so.1" and "libc.musl-x86_64.so.1". */
static bool is_libc(const struct module *module)
{
    static const char *const beginnings[] = {"libc.", "libc-", "ld-musl-"};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(beginnings); i++)
        if (!strncmp(module->name, beginnings[i], strlen(beginnings[i])))
            return true;
    return false;
}

/*
 * As the loader looks names up: a program that is not position-independent has a copy of the
 * variable (R_X86_64_COPY), and libc's own stays NULL then; so does one that is linked statically.
 */
bool running_find_environment(struct modules *modules, psc_addr *ret)
{
    struct module *program = NULL, *libc = NULL;
    for (size_t i = 0; i < modules_count(modules); i++) {
        struct module *module = modules_get(modules, i);
        if (module->is_executable_file)
            program = module;
        else if (!libc && is_libc(module))
            libc = module;
    }
    if (program && find_symbol(program, false, ret))
        return true;
    return libc ? find_symbol(libc, false, ret) : program && find_symbol(program, true, ret);
}

bool running_read_environment(struct modules *modules, struct arena *arena,
                              struct running_variables *ret)
{
    struct target *target = modules_target(modules);
    psc_addr symbol, array = 0;
    return running_find_environment(modules, &symbol) &&
           target_read_pointer(target, symbol, &array) == PSC_OK && array &&
           read_array(target, array, arena, ret);
}

bool running_read_initial(struct target *target, struct arena *arena, struct running_variables *ret)
{
    if (target->kind != TARGET_PROCESS)
        return target->process.environment &&
               read_array(target, target->process.environment, arena, ret);
    size_t size = 0;
    char *text = live_read_environment(target, &size);
    if (text)
        parse_environment(text, size, arena, ret);
    free(text);
    return text;
}

void running_read_ahead(struct modules *modules)
{
    struct running_variables variables = {0};
    struct arena *arena = arena_create();
    // What cannot be read now is looked for again when the process goes on.
    if (arena)
        (void)running_read_environment(modules, arena, &variables);
    free(variables.items);
    arena_destroy(arena);
}

const char *running_find_variable(const struct trace_running *running, const char *name)
{
    for (size_t i = 0; i < running->environment_count; i++)
        if (!strcmp(running->environment[i].name, name))
            return running->environment[i].value;
    return NULL;
}
