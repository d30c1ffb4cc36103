/* Numbers of Linux: uapi/asm-generic/signal.h (x86-64 has the same), asm-generic/siginfo.h. */
#include "diagnose_private.h"

struct signal_code {
    int signal; /* 0: of any signal. */
    int code;
    const char *name;
};

/* clang-format off */
static const char *const signal_names[] = {
    [1] = "SIGHUP",     [2] = "SIGINT",     [3] = "SIGQUIT",   [4] = "SIGILL",
    [5] = "SIGTRAP",    [6] = "SIGABRT",    [7] = "SIGBUS",    [8] = "SIGFPE",
    [9] = "SIGKILL",    [10] = "SIGUSR1",   [11] = "SIGSEGV",  [12] = "SIGUSR2",
    [13] = "SIGPIPE",   [14] = "SIGALRM",   [15] = "SIGTERM",  [16] = "SIGSTKFLT",
    [17] = "SIGCHLD",   [18] = "SIGCONT",   [19] = "SIGSTOP",  [20] = "SIGTSTP",
    [21] = "SIGTTIN",   [22] = "SIGTTOU",   [23] = "SIGURG",   [24] = "SIGXCPU",
    [25] = "SIGXFSZ",   [26] = "SIGVTALRM", [27] = "SIGPROF",  [28] = "SIGWINCH",
    [29] = "SIGIO",     [30] = "SIGPWR",    [31] = "SIGSYS",
    /* 32 and 33 belong to the C library; real-time signals are counted as it does. */
    [34] = "SIGRTMIN",    [35] = "SIGRTMIN+1",  [36] = "SIGRTMIN+2",  [37] = "SIGRTMIN+3",
    [38] = "SIGRTMIN+4",  [39] = "SIGRTMIN+5",  [40] = "SIGRTMIN+6",  [41] = "SIGRTMIN+7",
    [42] = "SIGRTMIN+8",  [43] = "SIGRTMIN+9",  [44] = "SIGRTMIN+10", [45] = "SIGRTMIN+11",
    [46] = "SIGRTMIN+12", [47] = "SIGRTMIN+13", [48] = "SIGRTMIN+14", [49] = "SIGRTMIN+15",
    [50] = "SIGRTMIN+16", [51] = "SIGRTMIN+17", [52] = "SIGRTMIN+18", [53] = "SIGRTMIN+19",
    [54] = "SIGRTMIN+20", [55] = "SIGRTMIN+21", [56] = "SIGRTMIN+22", [57] = "SIGRTMIN+23",
    [58] = "SIGRTMIN+24", [59] = "SIGRTMIN+25", [60] = "SIGRTMIN+26", [61] = "SIGRTMIN+27",
    [62] = "SIGRTMIN+28", [63] = "SIGRTMIN+29", [64] = "SIGRTMIN+30",
};
/* clang-format on */

static const struct signal_code signal_codes[] = {
    {0, CODE_USER, "SI_USER"},
    {0, CODE_KERNEL, "SI_KERNEL"},
    {0, CODE_QUEUE, "SI_QUEUE"},
    {0, -2, "SI_TIMER"},
    {0, -3, "SI_MESGQ"},
    {0, -4, "SI_ASYNCIO"},
    {0, -5, "SI_SIGIO"},
    {0, CODE_TKILL, "SI_TKILL"},
    {0, -7, "SI_DETHREAD"},
    {0, -60, "SI_ASYNCNL"},
    {SIGNAL_ILL, 1, "ILL_ILLOPC"},
    {SIGNAL_ILL, 2, "ILL_ILLOPN"},
    {SIGNAL_ILL, 3, "ILL_ILLADR"},
    {SIGNAL_ILL, 4, "ILL_ILLTRP"},
    {SIGNAL_ILL, 5, "ILL_PRVOPC"},
    {SIGNAL_ILL, 6, "ILL_PRVREG"},
    {SIGNAL_ILL, 7, "ILL_COPROC"},
    {SIGNAL_ILL, 8, "ILL_BADSTK"},
    {SIGNAL_ILL, 9, "ILL_BADIADDR"},
    {SIGNAL_FPE, 1, "FPE_INTDIV"},
    {SIGNAL_FPE, 2, "FPE_INTOVF"},
    {SIGNAL_FPE, 3, "FPE_FLTDIV"},
    {SIGNAL_FPE, 4, "FPE_FLTOVF"},
    {SIGNAL_FPE, 5, "FPE_FLTUND"},
    {SIGNAL_FPE, 6, "FPE_FLTRES"},
    {SIGNAL_FPE, 7, "FPE_FLTINV"},
    {SIGNAL_FPE, 8, "FPE_FLTSUB"},
    {SIGNAL_FPE, 14, "FPE_FLTUNK"},
    {SIGNAL_FPE, 15, "FPE_CONDTRAP"},
    {SIGNAL_SEGV, CODE_SEGV_MAPERR, "SEGV_MAPERR"},
    {SIGNAL_SEGV, CODE_SEGV_ACCERR, "SEGV_ACCERR"},
    {SIGNAL_SEGV, 3, "SEGV_BNDERR"},
    {SIGNAL_SEGV, CODE_SEGV_PKUERR, "SEGV_PKUERR"},
    {SIGNAL_SEGV, 5, "SEGV_ACCADI"},
    {SIGNAL_SEGV, 6, "SEGV_ADIDERR"},
    {SIGNAL_SEGV, 7, "SEGV_ADIPERR"},
    {SIGNAL_SEGV, 8, "SEGV_MTEAERR"},
    {SIGNAL_SEGV, 9, "SEGV_MTESERR"},
    {SIGNAL_SEGV, CODE_SEGV_CPERR, "SEGV_CPERR"},
    {SIGNAL_BUS, 1, "BUS_ADRALN"},
    {SIGNAL_BUS, CODE_BUS_ADRERR, "BUS_ADRERR"},
    {SIGNAL_BUS, 3, "BUS_OBJERR"},
    {SIGNAL_BUS, 4, "BUS_MCEERR_AR"},
    {SIGNAL_BUS, 5, "BUS_MCEERR_AO"},
    {SIGNAL_TRAP, 1, "TRAP_BRKPT"},
    {SIGNAL_TRAP, CODE_TRAP_TRACE, "TRAP_TRACE"},
    {SIGNAL_TRAP, 3, "TRAP_BRANCH"},
    {SIGNAL_TRAP, CODE_TRAP_HWBKPT, "TRAP_HWBKPT"},
    {SIGNAL_TRAP, 5, "TRAP_UNK"},
    {SIGNAL_TRAP, 6, "TRAP_PERF"},
    {SIGNAL_SYS, CODE_SYS_SECCOMP, "SYS_SECCOMP"},
    {SIGNAL_SYS, 2, "SYS_USER_DISPATCH"},
};

const char *diagnose_signal_name(int number)
{
    if (number < 1 || (size_t)number >= PSC_ARRAY_SIZE(signal_names))
        return NULL;
    return signal_names[number];
}

const char *diagnose_signal_code(int number, int code)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(signal_codes); i++)
        if (signal_codes[i].code == code &&
            (!signal_codes[i].signal || signal_codes[i].signal == number))
            return signal_codes[i].name;
    return NULL;
}
