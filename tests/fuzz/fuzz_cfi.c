/* Call frame information from outside: the first byte says where the CIE ends and an FDE begins. */
#include "native_private.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* gcc's of C code: version 1, "zR", alignments 1 and -8, rip, pcrel sdata4, def_cfa rsp+8. */
    static const uint8_t usual[] = {1,    'z',  'R', 0, 1,    0x78, 0x10, 1,
                                    0x1b, 0x0c, 7,   8, 0x90, 1,    0,    0};
    const struct target_machine *machine = target_machine_here();
    struct cfi_common common;
    if (size == 0)
        return 0;
    size_t first = data[0] < size ? data[0] : size - 1;
    if (parse_cfi_common(machine, data + 1, first, &common)) {
        if (!common.pointer_size || common.pointer_size > 8)
            abort();
        (void)parse_cfi_entry(data + 1 + first, size - 1 - first, &common);
    }
    if (!parse_cfi_common(machine, usual, sizeof(usual), &common))
        abort();
    (void)parse_cfi_entry(data, size, &common);
    return 0;
}
