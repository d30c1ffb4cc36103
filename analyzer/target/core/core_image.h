/** The bytes of a core file, for the files of room `target/core` only. */
#ifndef PSC_CORE_IMAGE_H
#define PSC_CORE_IMAGE_H

#include "base.h"

/**
 * A file as one piece of memory. Where it must not be mapped, because whoever makes it shorter
 * would end the host (SIGBUS), it is a copy; of a file that is too large to be copied only the
 * windows that are asked for, as they are asked for.
 */
struct core_image {
    const uint8_t *bytes; /**< NULL: none. */
    size_t size;
    int file;        /**< Where windows come from; -1: all bytes are there. */
    uint8_t *loaded; /**< A bit for each window. */
};

/** Takes the descriptor over. @param maps  the file may be mapped. False: errno says why. */
bool core_image_open(int fd, bool maps, struct core_image *ret);
void core_image_close(struct core_image *image);
/**
 * Before bytes are read: they are there from now on. What the file has no more reads as zeros.
 * @param most  that are loaded, of an image that is not there as a whole.
 * @return how many of them may be read, up to `size`; 0 behind the end of the image.
 */
size_t core_image_load(struct core_image *image, size_t offset, size_t size, size_t most);
/** What will be read soon, or not soon again, of one that is mapped or copied as a whole. */
void core_image_advise(struct core_image *image, size_t offset, size_t size, bool soon);

#endif
