/* A core that one process opens and another one, without rights, reads. */
#include "packed_core.h"

#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Why it cannot be opened, the library says. */
static void complain_of(const struct packed_core *core)
{
    struct psc_open_options options = PSC_OPEN_OPTIONS_INIT;
    struct psc_target *target = NULL;
    struct psc_error err = {0};
    options.core_name = core->name;
    if (psc_open_core(core->path, NULL, &options, &target, &err) == PSC_OK)
        snprintf(err.message, sizeof(err.message), "%s: changed while it was opened", core->name);
    complain("%s", err.message);
    psc_close(target);
}

bool open_core_open(const char *path, struct open_core *ret)
{
    struct stat status;
    *ret = (struct open_core)OPEN_CORE_NONE;
    if (!packed_core_open(path, &ret->packed))
        return false;
    ret->fd = open(ret->packed.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (ret->fd < 0) {
        complain_of(&ret->packed);
        return false;
    }
    if (fstat(ret->fd, &status)) {
        complain("%s: %s", ret->packed.name, strerror(errno));
        return false;
    }
    ret->user = ret->packed.owner_known ? ret->packed.user : status.st_uid;
    ret->group = ret->packed.owner_known ? ret->packed.group : status.st_gid;
    snprintf(ret->path, sizeof(ret->path), "/proc/self/fd/%d", ret->fd);
    return true;
}

struct psc_target *open_core_read(const struct open_core *core, const char *executable,
                                  const struct psc_open_options *options, struct psc_error *err)
{
    struct psc_open_options own = *options;
    struct psc_target *target = NULL;
    own.core_name = core->packed.name;
    own.core_warning = core->packed.warning;
    own.core_owner_known = 1;
    own.core_user = core->user;
    own.core_group = core->group;
    return psc_open_core(core->path, executable, &own, &target, err) == PSC_OK ? target : NULL;
}

void open_core_close(struct open_core *core)
{
    if (core->fd >= 0)
        close(core->fd);
    core->fd = -1;
    packed_core_close(&core->packed);
}
