#include "gunzip.h"

#include "messages.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

/* The largest window, and the header and trailer of gzip (zlib.h, inflateInit2()). */
#define GZIP_WINDOW (15 + 16)

struct gzip {
    struct unpack_work *work;
    z_stream stream;
    bool in_member; /* Some bytes of one were read, and not its trailer. */
    bool any;       /* A member was whole. */
    unsigned char bytes[256 * 1024];
};

/* Some bytes more of a member; false: no more is wanted, or can be had. */
static bool inflate_some(struct gzip *gzip)
{
    z_stream *stream = &gzip->stream;
    stream->next_out = gzip->bytes;
    stream->avail_out = sizeof(gzip->bytes);
    gzip->in_member = true;
    const int result = inflate(stream, Z_NO_FLUSH);
    const size_t size = sizeof(gzip->bytes) - stream->avail_out;
    if (!unpack_take(gzip->work, gzip->bytes, size))
        return false;
    if (result == Z_STREAM_END) {
        gzip->in_member = false;
        gzip->any = true;
        return inflateReset(stream) == Z_OK;
    }
    if (result == Z_OK || result == Z_BUF_ERROR)
        return true;
    unpack_say_how_it_ended(gzip->work, stream->msg ? stream->msg : "not packed by gzip");
    return false;
}

/* What follows the last member and is none: gzip(1) passes over it, too. */
static bool is_rubbish(const struct gzip *gzip)
{
    return gzip->any && !gzip->in_member && gzip->stream.next_in[0] != 0x1f;
}

static void inflate_all(struct gzip *gzip)
{
    z_stream *stream = &gzip->stream;
    ssize_t got;
    while ((got = unpack_next_bytes(&gzip->work->source)) > 0) {
        stream->next_in = gzip->work->source.buffer;
        stream->avail_in = (unsigned int)got;
        do {
            if (stream->avail_in && is_rubbish(gzip))
                return;
            if (!inflate_some(gzip))
                return;
        } while (stream->avail_in || !stream->avail_out);
    }
    if (got < 0)
        unpack_say_how_it_ended(gzip->work, strerror(errno));
    else if (gzip->in_member || !gzip->any)
        unpack_say_how_it_ended(gzip->work, "truncated gzip input");
    else if (!gzip->work->sink.at)
        unpack_say_how_it_ended(gzip->work, "nothing is in it");
}

int copy_gzip(struct unpack_work *work)
{
    static struct gzip gzip;
    gzip = (struct gzip){.work = work};
    if (inflateInit2(&gzip.stream, GZIP_WINDOW) != Z_OK) {
        complain("out of memory");
        return EXIT_NOTHING;
    }
    inflate_all(&gzip);
    inflateEnd(&gzip.stream);
    return EXIT_COMPLETE;
}
