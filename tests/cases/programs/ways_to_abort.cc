// One way to abort each (argument). What is said of it on standard error is the truth.
#include <cassert>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>

struct Field : std::exception {
    std::string text = "own field";
    const char *what() const noexcept override { return text.c_str(); }
};
struct Constant : std::exception {
    const char *what() const noexcept override { return "a constant"; }
};
struct Other {
    virtual ~Other() {}
    int number = 1;
};
struct Virtual : Other, virtual std::exception {
    const char *what() const noexcept override { return "virtual base"; }
};
struct Late : Other, std::runtime_error {
    Late() : std::runtime_error("several bases") {}
};
struct Plain {
    int number;
};
// What it returns takes decisions: nobody can tell without running it.
struct Computed : std::exception {
    mutable std::string made;
    const char *what() const noexcept override
    {
        made = "made " + std::to_string(rand());
        return made.c_str();
    }
};

// While Abstract is constructed its methods are pure still.
struct Abstract {
    Abstract();
    virtual ~Abstract() {}
    virtual int take(int number) = 0;
};
struct Concrete : Abstract {
    int take(int number) override { return number + 1; }
};
__attribute__((noinline)) static int take_one(Abstract *object)
{
    return object->take(1) + 1;
}
Abstract::Abstract()
{
    printf("%d", take_one(this));
}

struct Deleted {
    virtual int take(int number) = delete;
};
struct Kept {
    virtual int take(int number) { return number; }
};
// Its method ends in the same function of the library, and is there.
struct Terminates : Kept {
    int take(int) override { std::terminate(); }
};

static jmp_buf before;

static void caught(int)
{
    longjmp(before, 1);
}

__attribute__((noinline)) static void check_number(int number)
{
    assert(number == 5 && "five wanted");
}

__attribute__((noinline)) static void check_other(int number)
{
    assert(number == 7 && "seven wanted");
}

// A first assertion whose signal is caught: its text stays.
static void leave_old_text(int number)
{
    if (!setjmp(before)) {
        signal(SIGABRT, caught);
        check_number(number);
    }
    signal(SIGABRT, SIG_DFL);
}

__attribute__((noinline)) static void smash_buffer(const char *text, size_t size)
{
    char buffer[16];
    char *volatile to = buffer;
    for (volatile size_t i = 0; i < size; i++)
        to[i] = text[i];
    __asm__ volatile("" ::"r"(buffer) : "memory");
}

__attribute__((noinline)) static void copy_text(const char *text)
{
    char buffer[16];
    strcpy(buffer, text);
    puts(buffer);
}

static void in_noexcept() noexcept
{
    throw std::out_of_range("out of noexcept");
}

static void library_ways(const std::string &way, int number, const char *text)
{
    if (way == "assert")
        check_number(number);
    if (way == "double_free") {
        char *volatile memory = static_cast<char *>(malloc(100));
        free(memory);
        free(memory);
    }
    if (way == "smash")
        smash_buffer(text, 48);
    if (way == "fortify")
        copy_text(text);
}

static void exceptions(const std::string &way)
{
    if (way == "runtime_error")
        throw std::runtime_error("boom");
    if (way == "field")
        throw Field();
    if (way == "constant")
        throw Constant();
    if (way == "virtual_base")
        throw Virtual();
    if (way == "several_bases")
        throw Late();
    if (way == "plain")
        throw Plain();
    if (way == "computed")
        throw Computed();
    if (way == "int")
        throw 42;
    if (way == "literal")
        throw "a literal";
    if (way == "string")
        throw std::string("a string");
    if (way == "system_error")
        throw std::system_error(std::make_error_code(std::errc::no_such_file_or_directory), "opening");
    if (way == "filesystem")
        (void)std::filesystem::file_size("/does/not/exist");
    if (way == "out_of_range")
        std::string("x").at(5);
}

static void ways_to_terminate(const std::string &way)
{
    if (way == "noexcept")
        in_noexcept();
    if (way == "thread")
        std::thread([] { throw std::logic_error("in a thread"); }).join();
    if (way == "joinable")
        std::thread one([] {});
    if (way == "rethrow") {
        try {
            throw std::runtime_error("thrown again");
        } catch (...) {
            throw;
        }
    }
    if (way == "exception_ptr") {
        std::exception_ptr kept;
        try {
            throw std::runtime_error("by pointer");
        } catch (...) {
            kept = std::current_exception();
        }
        std::rethrow_exception(kept);
    }
    if (way == "in_catch") {
        try {
            throw std::runtime_error("in hand");
        } catch (...) {
            std::terminate();
        }
    }
    if (way == "handler") {
        std::set_terminate([] { abort(); });
        throw std::runtime_error("own handler");
    }
}

__attribute__((noinline)) static int take_kept(Kept *object)
{
    return object->take(1) + 1;
}

static void wait_in_handler()
{
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}

static void virtual_methods(const std::string &way)
{
    if (way == "pure")
        Concrete one;
    if (way == "pure_lives") {
        std::set_terminate(wait_in_handler);
        Concrete one;
    }
    if (way == "pure_in_catch") {
        try {
            throw std::runtime_error("in hand");
        } catch (...) {
            Concrete one;
        }
    }
    if (way == "deleted") {
        Deleted one;
        void *volatile object = &one;
        printf("%d", take_kept(static_cast<Kept *>(object)));
    }
    if (way == "not_pure") {
        Terminates one;
        printf("%d", take_kept(&one));
    }
}

static void near_misses(const std::string &way, int number)
{
    if (way == "abort")
        abort();
    if (way == "raise")
        raise(SIGABRT);
    if (way == "old_text") {
        leave_old_text(number);
        abort();
    }
    if (way == "old_text_lives") {
        leave_old_text(number);
        puts("ready");
        fflush(stdout);
        for (;;)
            pause();
    }
    if (way == "old_text_fault") {
        leave_old_text(number);
        int *volatile nowhere = nullptr;
        *nowhere = number;
    }
    if (way == "old_text_heap") {
        leave_old_text(number);
        library_ways("double_free", number, "");
    }
    if (way == "old_text_other") {
        leave_old_text(number);
        check_other(number);
    }
    if (way == "old_text_terminate") {
        leave_old_text(number);
        throw std::runtime_error("later");
    }
    if (way == "abort_in_catch") {
        try {
            throw std::runtime_error("in hand");
        } catch (...) {
            abort();
        }
    }
}

int main(int argc, char **argv)
{
    char text[256];
    memset(text, 'A', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    library_ways(argv[1], argc, text);
    near_misses(argv[1], argc);
    ways_to_terminate(argv[1]);
    virtual_methods(argv[1]);
    exceptions(argv[1]);
    return 0;
}
