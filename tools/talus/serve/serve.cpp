// SPDX-License-Identifier: MIT
//
// Owns: `talus serve`: the words, the HTTP server on loopback, and what it answers.
// Invariant: only GET of known paths, only by a name of this machine, one answer after the other.
// Each answer is a new look at all processes of the user; nothing is kept between two.
// Must not know: how numbers are found and printed.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>

#include "command.hpp"
#include "observe/show_numbers.hpp"
#include "serve/every_process.hpp"
#include "serve/heap_answer.hpp"
#include "subcommand.hpp"

#if defined(TALUS_HAS_LIBEVENT)
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#endif

namespace talus::tool {
namespace {

struct ServeRequest {
  uint16_t port = 9797;
};

#if defined(TALUS_HAS_LIBEVENT)
constexpr const char* metrics_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";

// A page of another site may have its name lead here. Its requests then name that site.
bool is_for_this_machine(evhttp_request* request) {
  const char* const host = ::evhttp_request_get_host(request);
  const std::string name = host == nullptr ? "" : host;
  return name == "127.0.0.1" || name == "localhost";
}

uint16_t port_of(evutil_socket_t listening) {
  sockaddr_in address{};
  socklen_t bytes = sizeof address;
  ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &bytes);
  return ntohs(address.sin_port);
}

void answer(evhttp_request* request, int code, const char* type, const std::string& text) {
  evbuffer* const body = ::evbuffer_new();
  if (body == nullptr) return ::evhttp_send_error(request, HTTP_INTERNAL, nullptr);
  ::evbuffer_add(body, text.data(), text.size());
  ::evhttp_add_header(::evhttp_request_get_output_headers(request), "Content-Type", type);
  ::evhttp_send_reply(request, code, nullptr, body);
  ::evbuffer_free(body);
}

// What stands behind the question mark.
std::map<std::string, std::string> words_of(const evhttp_uri* uri) {
  std::map<std::string, std::string> words;
  const char* const query = ::evhttp_uri_get_query(uri);
  evkeyvalq parsed{};
  if (query == nullptr || ::evhttp_parse_query_str(query, &parsed) != 0) return words;
  for (const evkeyval* one = parsed.tqh_first; one != nullptr; one = one->next.tqe_next) {
    words[one->key] = one->value;
  }
  ::evhttp_clear_headers(&parsed);
  return words;
}

void answer_any(evhttp_request* request, void*) {
  const evhttp_uri* const uri = ::evhttp_request_get_evhttp_uri(request);
  const char* const path = uri == nullptr ? nullptr : ::evhttp_uri_get_path(uri);
  const std::string wanted = path == nullptr || *path == '\0' ? "/" : path;
  if (!is_for_this_machine(request)) {
    return answer(request, 403, "text/plain", "only for 127.0.0.1 and localhost\n");
  }
  if (wanted == "/metrics") {
    return answer(request, HTTP_OK, metrics_type, show_openmetrics(look_at_every_process()));
  }
  const bool is_heap = wanted == "/debug/pprof/heap";
  if (is_heap || wanted == "/debug/pprof/allocs") {
    const HeapAnswer heap =
        heap_answer(words_of(uri), is_heap ? ProfileView::live : ProfileView::allocated);
    const char* const type = heap.code == HTTP_OK ? "application/octet-stream" : "text/plain";
    return answer(request, heap.code, type, heap.body);
  }
  constexpr const char* paths = "/metrics, /debug/pprof/heap?pid=N and /debug/pprof/allocs?pid=N\n";
  answer(request, wanted == "/" ? HTTP_OK : HTTP_NOTFOUND, "text/plain",
         std::string("talus serve has ") + paths);
}

template <auto Free>
struct FreedBy {
  template <typename Object>
  void operator()(Object* object) const {
    Free(object);
  }
};

int serve(const ServeRequest& wanted) {
  const std::unique_ptr<event_base, FreedBy<::event_base_free>> base(::event_base_new());
  const std::unique_ptr<evhttp, FreedBy<::evhttp_free>> server(
      base == nullptr ? nullptr : ::evhttp_new(base.get()));
  if (server == nullptr) {
    complain("serve: no memory");
    return exit_usage;
  }
  ::evhttp_set_allowed_methods(server.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
  ::evhttp_set_max_headers_size(server.get(), 64 * 1024);
  ::evhttp_set_max_body_size(server.get(), 0);
  ::evhttp_set_timeout(server.get(), 30);
  ::evhttp_set_gencb(server.get(), answer_any, nullptr);
  evhttp_bound_socket* const bound =
      ::evhttp_bind_socket_with_handle(server.get(), "127.0.0.1", wanted.port);
  if (bound == nullptr) {
    complain(
        fmt::format("serve: the port {} cannot be had: another program may have it", wanted.port));
    return exit_usage;
  }
  fmt::print("http://127.0.0.1:{}/metrics\n", port_of(::evhttp_bound_socket_get_fd(bound)));
  std::fflush(stdout);
  return ::event_base_dispatch(base.get()) == 0 ? exit_yes : exit_usage;
}
#else
int serve(const ServeRequest&) {
  complain("serve: this command was built without libevent; install libevent-dev and build again");
  return exit_usage;
}
#endif

}  // namespace

Subcommand add_serve(CLI::App& app) {
  const auto wanted = std::make_shared<ServeRequest>();
  CLI::App* const serving =
      app.add_subcommand("serve", "Serve the numbers of all processes to Prometheus and the like");
  serving->footer(
      "talus serve [--port N]\n\n"
      "Answers http://127.0.0.1:N/metrics with OpenMetrics of all processes on Talus of the user\n"
      "that runs it. Labels tell them apart: pid, comm, and object where a process has several.\n"
      "/debug/pprof/heap?pid=PID and /debug/pprof/allocs?pid=PID are the process's heap profile, "
      "for\n"
      "`go tool pprof` and its like; without pid if one process alone has a profile.\n"
      "It listens on loopback only, prints its address, and runs until it is stopped. Port 0\n"
      "takes a free one. Exit status: 2 if the port cannot be had.");
  serving->add_option("--port", wanted->port, "where it listens")
      ->type_name("N")
      ->capture_default_str();
  return {serving, [wanted] { return serve(*wanted); }};
}

}  // namespace talus::tool
