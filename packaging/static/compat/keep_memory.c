/*
 * Memory that was freed stays with the program, which ends soon: mimalloc else gives it back to the
 * kernel, and a long report takes twice as many page faults. MIMALLOC_ALLOW_DECOMMIT=1 undoes this.
 */
#include <mimalloc.h>

__attribute__((constructor)) static void keep_memory(void)
{
    mi_option_set_enabled_default(mi_option_allow_decommit, false);
}
