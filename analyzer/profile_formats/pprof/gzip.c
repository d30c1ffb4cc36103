/* gzip (RFC 1952) by zlib, piece by piece: libdeflate takes whole buffers alone. */
#include "pprof_private.h"

#include <stdlib.h>
#include <zlib.h>

#define PIECE        32768u
#define GZIP_WINDOW  (MAX_WBITS + 16) /* deflateInit2(): with gzip's head and end. */
#define MEMORY_LEVEL 8

struct gzip_output {
    struct profile_output output;
    z_stream stream;
};

/* True: the output stopped it. */
static bool compress_piece(struct gzip_output *gzip, const char *bytes, size_t size, int flush)
{
    Bytef piece[PIECE];
    z_stream *stream = &gzip->stream;
    stream->next_in = (Bytef *)(uintptr_t)bytes;
    stream->avail_in = (uInt)size;
    do {
        stream->next_out = piece;
        stream->avail_out = sizeof(piece);
        deflate(stream, flush);
        size_t made = sizeof(piece) - stream->avail_out;
        if (made && gzip->output.write(gzip->output.context, (const char *)piece, made))
            return true;
    } while (!stream->avail_out);
    return false;
}

static int write_compressed(void *context, const char *bytes, size_t size)
{
    while (size) {
        size_t part = size < PIECE ? size : PIECE;
        if (compress_piece(context, bytes, part, Z_NO_FLUSH))
            return 1;
        bytes += part;
        size -= part;
    }
    return 0;
}

struct gzip_output *gzip_open(const struct profile_output *output,
                              struct profile_output *ret_output)
{
    struct gzip_output *gzip = calloc(1, sizeof(*gzip));
    if (!gzip)
        return NULL;
    gzip->output = *output;
    if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        free(gzip);
        return NULL;
    }
    *ret_output = *output;
    ret_output->write = write_compressed;
    ret_output->context = gzip;
    return gzip;
}

enum psc_status gzip_close(struct gzip_output *gzip, bool good)
{
    bool stopped = good && compress_piece(gzip, "", 0, Z_FINISH);
    deflateEnd(&gzip->stream);
    free(gzip);
    return stopped ? PSC_ERR_IO : PSC_OK;
}
