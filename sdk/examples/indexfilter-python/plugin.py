"""What every plugin of the crawler does, in Python.

extension-points.md of the crawler, "The wire", is the specification: the
handshake line, the environment, the services that every plugin has, signals and
the lifeline. Nothing here is about what this plugin is for.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from concurrent import futures

import grpc

import message

COOKIE = ("CRAWLER_PLUGIN_COOKIE", "8f0f2c1f9a0e4b55a3d3c6b7e6f0d9d2")
API_VERSION = 1


class Invalid(Exception):
    """The input can't be worked on: gRPC's INVALID_ARGUMENT."""


def log(level, text, **more):
    """Writes a line for the crawler's log: JSON on standard error."""
    line = {"@level": level, "@message": text, **more}
    sys.stderr.write(json.dumps(line) + "\n")
    sys.stderr.flush()


def unary(call):
    """Makes a gRPC handler of call, which takes and returns bytes."""

    def handle(request, context):
        try:
            return call(request)
        except (Invalid, ValueError) as e:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(e))
        except NotConfigured:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "plugin is not configured")

    return grpc.unary_unary_rpc_method_handler(handle)


class NotConfigured(Exception):
    """A call came before Configure."""


class Plugin:
    """The services that every plugin has, and the methods of its points.

    build(settings) is called by Configure with the plugin's settings as a dict;
    methods maps "service/method" to call(built, request bytes) -> answer bytes.
    """

    def __init__(self, manifest, build, methods):
        self.manifest = manifest
        self.build = build
        self.methods = methods
        self.built = None
        self.done = threading.Event()

    def describe(self, _):
        return message.chunk(1, self.manifest) + message.number(4, API_VERSION)

    def configure(self, request):
        settings = json.loads(message.first(message.read(request), 1) or b"{}")
        own = settings.get("own") if isinstance(settings, dict) else None
        if own is None:
            own = {}
        if not isinstance(settings, dict) or not isinstance(own, dict):
            raise Invalid("settings: want an object")
        self.built = self.build(own)
        return b""

    def shutdown(self, _):
        self.built = None
        return b""

    def end(self, _):
        self.done.set()
        return b""

    def method(self, call):
        def run(request):
            built = self.built
            if built is None:
                raise NotConfigured
            return call(built, request)

        return run

    def handlers(self):
        calls = {
            "crawler.base.v1.PluginService/Describe": self.describe,
            "crawler.base.v1.PluginService/Configure": self.configure,
            "crawler.base.v1.PluginService/Shutdown": self.shutdown,
            # HealthCheckResponse{status: SERVING}
            "grpc.health.v1.Health/Check": lambda _: message.number(1, 1),
            # How the host says that the process is to end.
            "plugin.GRPCController/Shutdown": self.end,
        }
        for name, call in self.methods.items():
            calls[name] = self.method(call)
        services = {}
        for name, call in calls.items():
            service, method = name.split("/")
            services.setdefault(service, {})[method] = unary(call)
        return [grpc.method_handlers_generic_handler(s, m) for s, m in services.items()]

    def serve(self):
        """Serves until the host ends it. Returns the exit status."""
        if os.environ.get(COOKIE[0]) != COOKIE[1]:
            print("This is a plugin for crawler and does nothing by itself.", file=sys.stderr)
            return 1
        if os.environ.get("PLUGIN_CLIENT_CERT"):
            print("This plugin does not speak TLS: turn it off for plugins.", file=sys.stderr)
            return 1
        # A terminal sends these to everybody; the host decides when plugins end.
        for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(s, signal.SIG_IGN)
        watch_lifeline()
        limit = int(os.environ.get("CRAWLER_MAX_MESSAGE", 64 << 20))
        server = grpc.server(
            futures.ThreadPoolExecutor(max_workers=8),
            handlers=self.handlers(),
            options=[("grpc.max_receive_message_length", limit), ("grpc.max_send_message_length", -1)],
        )
        folder = tempfile.mkdtemp(prefix="plugin", dir=os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or None)
        socket = os.path.join(folder, "s")
        server.add_insecure_port("unix:" + socket)
        server.start()
        # Nothing else may be printed on standard output before this line.
        print(f"1|1|unix|{socket}|grpc|", flush=True)
        self.done.wait()
        server.stop(grace=0.2).wait()
        shutil.rmtree(folder, ignore_errors=True)
        return 0


def watch_lifeline():
    """Ends the process group when the host is gone, however it went."""
    fd = os.environ.get("CRAWLER_LIFELINE_FD")
    if not fd:
        return
    fd = int(fd)
    os.set_inheritable(fd, False)

    def watch():
        while os.read(fd, 1):
            pass
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpgrp(), signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
