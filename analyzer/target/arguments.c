/* The command line, and where the environment begins, from the initial stack of the process. */
#include "target_private.h"

#include <string.h>

#define SEARCH_LIMIT        ((size_t)6 * 1024 * 1024) /* Linux caps argv + envp at 6 MiB (fs/exec.c). */
#define SEARCH_BLOCK        ((size_t)4096)
#define ARGUMENT_LIMIT      4096
#define ARGUMENT_SIZE_LIMIT 4096
#define ENVIRONMENT_LIMIT   100000

/* The address of the auxv copy on the stack, searched downwards from AT_EXECFN; 0: not found. */
static psc_addr find_auxv(struct target *target, const uint8_t first_auxv[16])
{
    uint8_t block[SEARCH_BLOCK + 16];
    psc_addr top = target->auxv.execfn & ~(psc_addr)(SEARCH_BLOCK - 1);
    for (size_t searched = 0; searched < SEARCH_LIMIT && top >= SEARCH_BLOCK;
         searched += SEARCH_BLOCK, top -= SEARCH_BLOCK) {
        memset(block, 0, sizeof(block));
        if (target_read(target, top, block, SEARCH_BLOCK) != PSC_OK)
            return 0;
        if (target_read(target, top + SEARCH_BLOCK, block + SEARCH_BLOCK, 16) != PSC_OK)
            memset(block + SEARCH_BLOCK, 0, 16);
        for (size_t at = SEARCH_BLOCK; at >= 8; at -= 8)
            if (!memcmp(block + at - 8, first_auxv, 16))
                return top + at - 8;
    }
    return 0;
}

/* From auxv down over envp and argv to argc; returns argc's address, 0 when it does not fit. */
static psc_addr find_argc(struct target *target, psc_addr auxv)
{
    uint64_t word;
    psc_addr at = auxv - 8;
    if (target_read_u64(target, at, &word) != PSC_OK || word)
        return 0;
    for (size_t i = 0;; i++) {
        at -= 8;
        if (i > ENVIRONMENT_LIMIT || target_read_u64(target, at, &word) != PSC_OK)
            return 0;
        if (!word)
            break;
    }
    for (uint64_t count = 0; count <= ENVIRONMENT_LIMIT; count++) {
        at -= 8;
        if (target_read_u64(target, at, &word) != PSC_OK)
            return 0;
        if (word == count)
            return at;
    }
    return 0;
}

static void read_arguments(struct target *target, const uint8_t first_auxv[16])
{
    struct target_process *process = &target->process;
    if (!target->auxv.execfn)
        return;
    psc_addr auxv = find_auxv(target, first_auxv);
    psc_addr argc_at = auxv ? find_argc(target, auxv) : 0;
    uint64_t argc;
    if (!argc_at || target_read_u64(target, argc_at, &argc) != PSC_OK)
        return;
    process->environment = argc_at + 8 + 8 * (argc + 1);
    bool cut = argc > ARGUMENT_LIMIT;
    if (cut)
        argc = ARGUMENT_LIMIT;
    const char **arguments = arena_array(target->arena, argc + 1, sizeof(*arguments));
    if (!arguments)
        return;
    for (uint64_t i = 0; i < argc; i++) {
        char text[ARGUMENT_SIZE_LIMIT];
        psc_addr pointer;
        if (target_read_pointer(target, argc_at + 8 + 8 * i, &pointer) != PSC_OK ||
            target_read_string(target, pointer, text, sizeof(text)) == PSC_ERR_FAULT)
            return;
        arguments[i] = arena_strdup(target->arena, text);
        if (!arguments[i])
            return;
    }
    process->arguments = arguments;
    process->argument_count = argc;
    process->arguments_cut = cut;
}

void target_read_arguments(struct target *target, const uint8_t first_auxv[16])
{
    // The environment stands beside them.
    target_begin_text(target);
    read_arguments(target, first_auxv);
    target_end_text(target);
}
