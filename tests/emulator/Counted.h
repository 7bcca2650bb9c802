//===- Counted.h - emulated functions that can be told to fail ------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_COUNTED_H
#define ZEROGRAPH_TESTS_EMULATOR_COUNTED_H

namespace zerograph::emulator {

/// True if two members are one.
template <auto Member, auto Other>
inline constexpr bool isMember = false;
template <auto Member>
inline constexpr bool isMember<Member, Member> = true;

/// Member `Member` of a library's table, counted; but those that cannot fail,
/// as they give no status. `Library` has
///
///   static constexpr const auto &table
///     what is emulated
///   static bool fails(const char *name)
///     counts a call, and says whether it is the one that was told to fail
///   template <auto Member> static int fail(auto... arguments)
///     what such a call does all the same, and gives
template <typename Library, auto Member, const char *Name, typename Function>
struct Counted;
template <typename Library, auto Member, const char *Name,
          typename... Arguments>
struct Counted<Library, Member, Name, int (*)(Arguments...)> {
  static int call(Arguments... arguments) {
    return Library::fails(Name) ? Library::template fail<Member>(arguments...)
                                : (Library::table.*Member)(arguments...);
  }
};
template <typename Library, auto Member, const char *Name, typename Result,
          typename... Arguments>
struct Counted<Library, Member, Name, Result (*)(Arguments...)> {
  static Result call(Arguments... arguments) {
    return (Library::table.*Member)(arguments...);
  }
};

} // namespace zerograph::emulator

// A library's list of functions makes names of them, and places in a table.
#define ZEROGRAPH_COUNTED_NAME(name, ...)                                      \
  static constexpr char k_##name[] = #name;
#define ZEROGRAPH_COUNTED(Library, Api, name)                                  \
  .name = ::zerograph::emulator::Counted<Library, &Api::name, k_##name,        \
                                         decltype(Api::name)>::call,

#endif // ZEROGRAPH_TESTS_EMULATOR_COUNTED_H
