/* A whole core file: opening, mappings, arguments, reads at every mapping. */
#include "core.h"
#include "target.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        close(fd);
        return 0;
    }
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct target *target;
    if (core_open(path, NULL, NULL, &target, NULL) == PSC_OK) {
        for (size_t i = 0; i < target->mapping_count && i < 1000; i++) {
            uint8_t bytes[32];
            psc_addr start = target->mappings[i].start;
            if (target_read(target, start, bytes, sizeof(bytes)) == PSC_OK)
                target_peek(target, start, sizeof(bytes));
            target_is_executable(target, start);
        }
        target_close(target);
    }
    close(fd);
    return 0;
}
