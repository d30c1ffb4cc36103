/*
 * Containers that somebody wrote over, as argv[1] says: with zeros, ones, 0xa5, their own address,
 * or with a huge length behind pointers to themselves. Made by: c++ -std=c++17 -g -O0 spoiled.cpp
 */
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

static const char *how = "";

template <class T> static void spoil(T &object)
{
    const size_t words = sizeof(T) / sizeof(uint64_t);
    uint64_t *at = reinterpret_cast<uint64_t *>(&object);
    const uint64_t self = reinterpret_cast<uint64_t>(&object);
    for (size_t i = 0; i < words; i++)
        at[i] = !strcmp(how, "zeros")    ? 0
                : !strcmp(how, "ones")   ? UINT64_MAX
                : !strcmp(how, "bytes")  ? 0xa5a5a5a5a5a5a5a5
                : !strcmp(how, "self")   ? self
                : i + 1 == words         ? UINT64_MAX / 3
                                         : self + 8 * (i & 1);
}

int main(int argc, char **argv)
{
    how = argc > 1 ? argv[1] : "";
    std::string text;
    std::string_view view;
    std::vector<int> vector;
    std::vector<bool> bits;
    std::vector<std::vector<std::string>> deep;
    std::map<int, std::string> map;
    std::set<std::map<int, int>> set;
    std::unordered_map<int, std::list<int>> table;
    std::list<std::list<int>> list;
    std::forward_list<int> forward;
    std::deque<std::deque<int>> deque;
    std::shared_ptr<std::shared_ptr<int>> shared;
    std::unique_ptr<std::map<int, int>> unique;
    std::optional<std::string> optional;
    std::tuple<std::string, std::list<int>> tuple;
    spoil(text), spoil(view), spoil(vector), spoil(bits), spoil(deep), spoil(map), spoil(set), spoil(table);
    spoil(list), spoil(forward), spoil(deque), spoil(shared), spoil(unique), spoil(optional), spoil(tuple);
    abort();
}
