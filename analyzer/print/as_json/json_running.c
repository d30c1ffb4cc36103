/* The member "running": what was running. */
#include "as_json_private.h"

static void put_environment(struct json_writer *writer, const struct trace_running *running)
{
    if (!running->environment_known) {
        json_put_null(writer, "environment");
        json_put_null(writer, "environment_of");
        return;
    }
    json_open_object(writer, "environment");
    for (size_t i = 0; i < running->environment_count && json_takes(writer); i++)
        json_put_string(writer, running->environment[i].name, running->environment[i].value);
    json_close_object(writer);
    json_put_string(writer, "environment_of", running->environment_initial ? "start" : "now");
}

static void put_test(struct json_writer *writer, const struct trace_running *running)
{
    if (!running->test) {
        json_put_null(writer, "test");
        return;
    }
    json_open_object(writer, "test");
    json_put_string(writer, "id", running->test);
    json_put_string(writer, "phase", running->phase);
    json_put_string(writer, "worker", running->worker);
    if (running->has_test_age)
        json_put_real(writer, "last_seen_s", running->test_age);
    json_close_object(writer);
}

static void put_rank(struct json_writer *writer, const struct trace_running *running)
{
    if (!running->rank_by) {
        json_put_null(writer, "rank");
        return;
    }
    json_open_object(writer, "rank");
    json_put_unsigned(writer, "number", true, running->rank);
    json_put_string(writer, "variable", running->rank_by);
    json_close_object(writer);
}

void json_put_running(struct json_writer *writer, const struct trace_running *running)
{
    if (!running) {
        json_put_null(writer, "running");
        return;
    }
    json_open_object(writer, "running");
    if (running->has_uptime)
        json_put_real(writer, "uptime_s", running->uptime);
    else
        json_put_null(writer, "uptime_s");
    if (running->stopped_by)
        json_put_string(writer, "stopped_by", running->stopped_by);
    json_put_string(writer, "working_directory", running->working_directory);
    json_put_string(writer, "host", running->host);
    json_open_object(writer, "memory");
    for (size_t i = 0; i < running->memory_count; i++)
        json_put_unsigned(writer, running->memory[i].kind, true, running->memory[i].bytes);
    json_close_object(writer);
    json_open_array(writer, "packages");
    for (size_t i = 0; i < running->package_count && json_takes(writer); i++) {
        json_open_object(writer, NULL);
        json_put_string(writer, "name", running->packages[i].name);
        json_put_string(writer, "version", running->packages[i].version);
        json_close_object(writer);
    }
    json_close_array(writer);
    put_environment(writer, running);
    put_test(writer, running);
    put_rank(writer, running);
    json_close_object(writer);
}
