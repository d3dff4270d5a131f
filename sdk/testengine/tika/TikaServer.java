import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Executors;
import org.apache.tika.Tika;
import org.apache.tika.exception.TikaException;
import org.apache.tika.io.TikaInputStream;
import org.apache.tika.metadata.HttpHeaders;
import org.apache.tika.metadata.Metadata;
import org.apache.tika.metadata.TikaCoreProperties;
import org.apache.tika.parser.AutoDetectParser;
import org.apache.tika.parser.ParseContext;
import org.apache.tika.parser.RecursiveParserWrapper;
import org.apache.tika.sax.BasicContentHandlerFactory;
import org.apache.tika.sax.RecursiveParserWrapperHandler;

/**
 * The part of tika-server's HTTP interface that parse-tika uses, over Tika's own parsers, for tests: the
 * server itself is not to be had as an artifact everywhere. Options as tika-server's: --host, --port, --noFork.
 * Besides, a document that is "crash" ends the process and one that is "hang" never gets an answer.
 */
public final class TikaServer {
  public static void main(String[] args) throws Exception {
    String host = "127.0.0.1";
    int port = 9998;
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--host" -> host = args[++i];
        case "--port" -> port = Integer.parseInt(args[++i]);
        case "--noFork" -> { }
        default -> throw new IllegalArgumentException(args[i]);
      }
    }
    HttpServer server = HttpServer.create(new InetSocketAddress(host, port), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/version", x -> answer(x, 200, "text/plain", new Tika().toString()));
    server.createContext("/rmeta/xml", TikaServer::rmeta);
    server.start();
  }

  private static void rmeta(HttpExchange x) throws IOException {
    if (!x.getRequestMethod().equals("PUT") || !"application/json".equals(x.getRequestHeaders().getFirst("Accept"))) {
      answer(x, 405, "text/plain", "");
      return;
    }
    byte[] body = x.getRequestBody().readAllBytes();
    String start = new String(body, 0, Math.min(body.length, 16), StandardCharsets.ISO_8859_1);
    if (start.equals("crash")) {
      Runtime.getRuntime().halt(3);
    }
    if (start.equals("hang")) {
      try {
        Thread.sleep(3_600_000);
      } catch (InterruptedException e) {
        return;
      }
    }
    Metadata metadata = new Metadata();
    String type = x.getRequestHeaders().getFirst("Content-Type");
    if (type != null && !type.equals("application/octet-stream")) {
      metadata.set(HttpHeaders.CONTENT_TYPE, type);
    }
    String disposition = x.getRequestHeaders().getFirst("Content-Disposition");
    if (disposition != null && disposition.contains("filename=\"")) {
      String name = disposition.substring(disposition.indexOf("filename=\"") + 10);
      metadata.set(TikaCoreProperties.RESOURCE_NAME_KEY, name.substring(0, name.indexOf('"')));
    }
    RecursiveParserWrapperHandler handler = new RecursiveParserWrapperHandler(
        new BasicContentHandlerFactory(BasicContentHandlerFactory.HANDLER_TYPE.XML, number(x, "writeLimit", -1)),
        number(x, "maxEmbeddedResources", -1));
    try {
      new RecursiveParserWrapper(new AutoDetectParser()).parse(TikaInputStream.get(body), handler, metadata, new ParseContext());
    } catch (TikaException e) {
      answer(x, 422, "text/plain", e.toString());
      return;
    } catch (Exception e) {
      answer(x, 500, "text/plain", e.toString());
      return;
    }
    answer(x, 200, "application/json", json(handler.getMetadataList()));
  }

  private static int number(HttpExchange x, String header, int otherwise) {
    String value = x.getRequestHeaders().getFirst(header);
    return value == null ? otherwise : Integer.parseInt(value);
  }

  private static void answer(HttpExchange x, int status, String type, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    x.getResponseHeaders().set("Content-Type", type);
    x.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
    x.getResponseBody().write(bytes);
    x.close();
  }

  private static String json(List<Metadata> list) {
    StringBuilder out = new StringBuilder("[");
    for (Metadata m : list) {
      out.append(out.length() > 1 ? ",{" : "{");
      String comma = "";
      for (String name : m.names()) {
        String[] values = m.getValues(name);
        out.append(comma).append(quote(name)).append(':');
        comma = ",";
        if (values.length == 1) {
          out.append(quote(values[0]));
          continue;
        }
        out.append('[');
        for (int i = 0; i < values.length; i++) {
          out.append(i > 0 ? "," : "").append(quote(values[i]));
        }
        out.append(']');
      }
      out.append('}');
    }
    return out.append(']').toString();
  }

  private static String quote(String s) {
    StringBuilder out = new StringBuilder("\"");
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }
}
