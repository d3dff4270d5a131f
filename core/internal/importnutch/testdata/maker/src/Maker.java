import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;

import crawlercommons.robots.BaseRobotRules;
import crawlercommons.robots.SimpleRobotRules;
import crawlercommons.robots.SimpleRobotRules.RobotRulesMode;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.*;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.apache.nutch.crawl.*;
import org.apache.nutch.fetcher.Fetcher;
import org.apache.nutch.metadata.Metadata;
import org.apache.nutch.metadata.Nutch;
import org.apache.nutch.net.protocols.Response;
import org.apache.nutch.parse.*;
import org.apache.nutch.protocol.*;
import org.apache.nutch.scoring.AbstractScoringFilter;
import org.apache.nutch.segment.SegmentReader;
import org.apache.nutch.util.NutchConfiguration;

/** Lets Apache Nutch crawl a small site that needs no network, once with each compression, and dump what it has. */
public class Maker {
  static final String HOME = "http://www.nutch.test/", OTHER = "http://other.test/";
  static final int YEARS = 946080000; // 30 years: nothing is due again while these tests live

  /** A page of the site. */
  record Page(int code, String type, String body, String... headers) {}

  static Map<String, Page> site() {
    Map<String, Page> m = new HashMap<>();
    m.put(HOME, html("Home", "Welcome to the heron colony", "about.html", "copy.html", "news.html", "old.html", "moved-away", "gone.html", "broken", "data.bin", OTHER));
    m.put(HOME + "about.html", html("About herons", "Grey herons wade. Größe und Übermut: 鷺", "/", "copy.html", "deep/one.html"));
    m.put(HOME + "copy.html", html("About herons", "Grey herons wade. Größe und Übermut: 鷺", "/", "copy.html", "deep/one.html"));
    m.put(HOME + "news.html", new Page(200, "text/html; charset=utf-8", page("News", "Today's bittern news", "about.html"),
        "Last-Modified", "Wed, 01 Jan 2020 00:00:00 GMT", "ETag", "\"n1\"", "Set-Cookie", "a=1", "Set-Cookie", "b=2"));
    m.put(HOME + "old.html", new Page(302, "text/html", "", "Location", HOME + "new.html"));
    m.put(HOME + "new.html", html("New place", "Here the egrets moved to", "notes.txt"));
    m.put(HOME + "moved-away", new Page(301, "text/html", "", "Location", OTHER + "landing.html"));
    m.put(HOME + "notes.txt", new Page(200, "text/plain", "plain notes about storks\n".repeat(20)));
    m.put(HOME + "data.bin", new Page(200, "application/octet-stream", "\u0000\u0001\u0002 no parser takes this"));
    m.put(HOME + "deep/one.html", html("Deep one", "A spoonbill", "two.html"));
    m.put(HOME + "deep/two.html", html("Deep two", "An ibis", "three.html"));
    m.put(OTHER, html("Other site", "Storks nest on chimneys", HOME, OTHER + "landing.html"));
    m.put(OTHER + "landing.html", html("Landing", "Cranes land here", HOME + "about.html"));
    m.put(HOME + "broken", new Page(503, "text/html", "later"));
    return m;
  }

  static Page html(String title, String text, String... links) {
    return new Page(200, "text/html; charset=utf-8", page(title, text, links));
  }

  static String page(String title, String text, String... links) {
    StringBuilder b = new StringBuilder("<html><head><title>" + title + "</title></head><body><p>" + text + "</p>");
    for (String l : links) b.append("<a href=\"" + l + "\">to " + l + "</a>\n");
    return b.append("</body></html>").toString();
  }

  public static class SiteProtocol implements Protocol {
    Configuration conf;
    public void setConf(Configuration c) { conf = c; }
    public Configuration getConf() { return conf; }

    public ProtocolOutput getProtocolOutput(Text url, CrawlDatum datum) {
      Page p = site().get(url.toString());
      if (p == null) p = new Page(404, "text/html", "not here");
      Metadata m = new Metadata();
      m.set("Content-Type", p.type());
      m.set("Date", "Tue, 03 Mar 2026 10:00:00 GMT");
      m.set("Server", "heron/1.0");
      m.set(Response.FETCH_TIME, Long.toString(System.currentTimeMillis()));
      for (int i = 0; i + 1 < p.headers().length; i += 2) m.add(p.headers()[i], p.headers()[i + 1]);
      if (url.toString().equals(HOME + "news.html")) {
        m.set("_request_", "GET /news.html HTTP/1.1\r\nHost: www.nutch.test\r\n\r\n");
        m.set("_response.headers_", "HTTP/1.1 200 Fine\r\nServer: heron/1.0\r\nETag: \"n1\"\r\n\r\n");
        m.set("_ip_", "192.0.2.7");
      }
      datum.getMetaData().put(Nutch.PROTOCOL_STATUS_CODE_KEY, new Text(Integer.toString(p.code())));
      String to = url.toString();
      Content c = new Content(to, to, p.body().getBytes(StandardCharsets.UTF_8), p.type(), m, conf);
      switch (p.code()) {
        case 200: return new ProtocolOutput(c, new ProtocolStatus(ProtocolStatus.SUCCESS));
        case 301: return new ProtocolOutput(c, new ProtocolStatus(ProtocolStatus.MOVED, m.get("Location")));
        case 302: return new ProtocolOutput(c, new ProtocolStatus(ProtocolStatus.TEMP_MOVED, m.get("Location")));
        case 404: return new ProtocolOutput(c, new ProtocolStatus(ProtocolStatus.NOTFOUND, to));
        default: return new ProtocolOutput(c, new ProtocolStatus(ProtocolStatus.EXCEPTION, "Http code=" + p.code() + ", url=" + to));
      }
    }

    public BaseRobotRules getRobotRules(Text url, CrawlDatum datum, List<Content> robots) {
      return new SimpleRobotRules(RobotRulesMode.ALLOW_ALL);
    }
  }

  public static class SiteParser implements Parser {
    Configuration conf;
    public void setConf(Configuration c) { conf = c; }
    public Configuration getConf() { return conf; }

    public ParseResult getParse(Content content) {
      String s = new String(content.getContent(), StandardCharsets.UTF_8);
      Matcher t = Pattern.compile("<title>(.*?)</title>").matcher(s);
      List<Outlink> links = new ArrayList<>();
      Matcher a = Pattern.compile("<a href=\"(.*?)\">(.*?)</a>").matcher(s);
      try {
        while (a.find()) {
          Outlink l = new Outlink(new java.net.URL(new java.net.URL(content.getBaseUrl()), a.group(1)).toString(), a.group(2));
          if (a.group(1).startsWith("deep/")) {
            MapWritable md = new MapWritable();
            md.put(new Text("rel"), new Text("bookmark"));
            l.setMetadata(md);
          }
          links.add(l);
        }
      } catch (java.net.MalformedURLException e) {
        throw new RuntimeException(e);
      }
      Metadata meta = new Metadata();
      meta.set("OriginalCharEncoding", "utf-8");
      if (content.getUrl().endsWith("two.html")) meta.set("robots", "noarchive,nofollow");
      ParseStatus status = new ParseStatus(ParseStatus.SUCCESS);
      String text = s.replaceAll("<title>.*?</title>", " ").replaceAll("<[^>]*>", " ").replaceAll("[ \n]+", " ").trim();
      ParseData data = new ParseData(status, t.find() ? t.group(1) : "", links.toArray(new Outlink[0]), content.getMetadata(), meta);
      return ParseResult.createParseResult(content.getUrl(), new ParseImpl(text, data));
    }
  }

  /** Shares the score among the links, and leaves values of many classes in the metadata. */
  public static class SiteScoring extends AbstractScoringFilter {
    public void injectedScore(Text url, CrawlDatum d) {
      MapWritable m = d.getMetaData();
      if (!url.toString().equals(HOME)) return;
      m.put(new Text("m.int"), new IntWritable(-7));
      m.put(new Text("m.long"), new LongWritable(1234567890123L));
      m.put(new Text("m.float"), new FloatWritable(0.25f));
      m.put(new Text("m.double"), new DoubleWritable(-2.5e-7));
      m.put(new Text("m.bool"), new BooleanWritable(true));
      m.put(new Text("m.bytes"), new BytesWritable(new byte[] {1, (byte) 0xfe, 16}));
      m.put(new Text("m.null"), NullWritable.get());
      m.put(new Text("m.vint"), new VIntWritable(70000));
      m.put(new Text("m.byte"), new ByteWritable((byte) -3));
      m.put(new Text("m.short"), new ShortWritable((short) 300));
    }

    public void passScoreBeforeParsing(Text url, CrawlDatum d, Content c) {
      c.getMetadata().set(Nutch.SCORE_KEY, "" + d.getScore());
    }

    public void passScoreAfterParsing(Text url, Content c, Parse p) {
      p.getData().getContentMeta().set(Nutch.SCORE_KEY, c.getMetadata().get(Nutch.SCORE_KEY));
    }

    public CrawlDatum distributeScoreToOutlinks(Text from, ParseData data, Collection<Map.Entry<Text, CrawlDatum>> targets, CrawlDatum adjust, int all) {
      float score = Float.parseFloat(data.getContentMeta().get(Nutch.SCORE_KEY));
      for (Map.Entry<Text, CrawlDatum> t : targets) t.getValue().setScore(score / Math.max(1, targets.size()));
      return adjust;
    }

    public void updateDbScore(Text url, CrawlDatum old, CrawlDatum d, List<CrawlDatum> in) {
      float sum = old == null ? 0 : old.getScore();
      for (CrawlDatum l : in) sum += l.getScore();
      d.setScore(sum);
    }
  }

  final Path dir;
  final Configuration conf;

  Maker(Path dir, Configuration conf) { this.dir = dir; this.conf = conf; }

  void run(Tool tool, Object... args) throws Exception {
    String[] a = Arrays.stream(args).map(Object::toString).toArray(String[]::new);
    int rc = ToolRunner.run(conf, tool, a);
    if (rc != 0) throw new IOException(tool.getClass() + " ended with " + rc);
  }

  Path newest() throws IOException {
    try (var s = Files.list(dir.resolve("segments"))) { return s.max(Comparator.naturalOrder()).get(); }
  }

  /** One round: as far as step, of generate, fetch, parse, update. */
  void round(String step) throws Exception {
    Path db = dir.resolve("crawldb"), segs = dir.resolve("segments");
    run(new Generator(), db, segs, "-topN", 100, "-noFilter", "-noNorm");
    if (step.equals("generate")) return;
    run(new Fetcher(), newest(), "-threads", 2);
    if (step.equals("fetch")) return;
    run(new ParseSegment(), newest());
    if (step.equals("parse")) return;
    run(new CrawlDb(), db, newest());
    run(new LinkDb(), dir.resolve("linkdb"), newest());
  }

  static void delete(Path p) throws IOException {
    if (!Files.exists(p)) return;
    try (var s = Files.walk(p)) {
      for (Path x : s.sorted(Comparator.reverseOrder()).toList()) Files.delete(x);
    }
  }

  static void keep(Path from, Path to) throws IOException {
    ByteArrayOutputStream b = new ByteArrayOutputStream();
    try (var s = Files.walk(from)) {
      for (Path x : s.filter(f -> Files.isRegularFile(f) && !f.getFileName().toString().matches("_SUCCESS|\\..*")).sorted().toList()) b.write(Files.readAllBytes(x));
    }
    Files.write(to, b.toByteArray());
  }

  void dump(Path golden) throws Exception {
    conf.set("mapreduce.output.fileoutputformat.compress", "false"); // of the texts
    delete(golden);
    Files.createDirectories(golden);
    Path out = Files.createTempDirectory("maker-dump");
    run(new CrawlDbReader(), dir.resolve("crawldb"), "-dump", out.resolve("db"), "-format", "json");
    keep(out.resolve("db"), golden.resolve("crawldb.jsonl"));
    run(new LinkDbReader(), dir.resolve("linkdb"), "-dump", out.resolve("links"));
    keep(out.resolve("links"), golden.resolve("linkdb.txt"));
    try (var s = Files.list(dir.resolve("segments"))) {
      for (Path seg : s.sorted().toList()) {
        if (!Files.exists(seg.resolve("crawl_fetch"))) continue;
        run(new SegmentReader(), "-dump", seg, out.resolve("seg"), "-recode");
        keep(out.resolve("seg"), golden.resolve("segment-" + seg.getFileName() + ".txt"));
        delete(out.resolve("seg"));
      }
    }
    delete(out);
  }

  static Configuration conf(Path plugins) {
    Configuration c = NutchConfiguration.create();
    c.set("plugin.folders", plugins.toString());
    c.set("plugin.includes", ".*");
    c.set("plugin.auto-activation", "true");
    c.set("http.agent.name", "maker");
    c.set("fetcher.server.delay", "0");
    c.set("db.fetch.interval.default", "" + YEARS);
    c.set("db.fetch.interval.max", "2000000000");
    c.set("db.ignore.internal.links", "false");
    c.set("linkdb.ignore.internal.links", "false");
    c.set("parser.html.outlinks.ignore_tags", "");
    c.set("fetcher.store.content", "true");
    c.set("mapreduce.job.reduces", "2");
    c.set("mapreduce.framework.name", "local");
    return c;
  }

  /** Changes a name in all files, to one of the same length, and removes their checksums. */
  static void rename(Path dir, String from, String to) throws IOException {
    try (var s = Files.walk(dir)) {
      for (Path x : s.filter(f -> Files.isRegularFile(f) && !f.toString().endsWith(".crc")).toList()) {
        String old = Files.readString(x, StandardCharsets.ISO_8859_1), now = old.replace(from, to);
        if (old.equals(now)) continue;
        Files.writeString(x, now, StandardCharsets.ISO_8859_1);
        Files.deleteIfExists(x.resolveSibling("." + x.getFileName() + ".crc"));
      }
    }
  }

  /** args: folder for the crawls, folder for the dumps, folder of plugins, and the one kind that is wanted, if not all. */
  public static void main(String[] args) throws Exception {
    Path out = Path.of(args[0]), golden = Path.of(args[1]), plugins = Path.of(args[2]).toAbsolutePath();
    String io = "org.apache.hadoop.io.compress.";
    String[][] kinds = {
      {"plain", "NONE", ""}, {"record-deflate", "RECORD", io + "DefaultCodec"}, {"record-snappy", "RECORD", io + "SnappyCodec"},
      {"block-deflate", "BLOCK", io + "DeflateCodec"}, {"block-gzip", "BLOCK", io + "GzipKodec"}, {"block-bzip2", "BLOCK", io + "BZip2Codec"},
      {"block-snappy", "BLOCK", io + "SnappyCodec"}, {"block-lz4", "BLOCK", io + "Lz4Codec"}, {"block-zstd", "BLOCK", io + "ZStandardCodec"},
    };
    for (String[] k : kinds) {
      if (args.length > 3 && !args[3].equals(k[0])) continue;
      Configuration c = conf(plugins);
      if (!k[1].equals("NONE")) {
        c.set("mapreduce.output.fileoutputformat.compress", "true");
        c.set("mapreduce.output.fileoutputformat.compress.type", k[1]);
        c.set("mapreduce.output.fileoutputformat.compress.codec", k[2]);
      } else {
        c.set("mapreduce.output.fileoutputformat.compress", "false");
      }
      boolean whole = k[0].equals("plain");
      if (!whole) c.set("mapreduce.job.reduces", "1");
      Path dir = out.resolve(k[0]);
      delete(dir);
      Path seeds = Files.createTempDirectory("maker-seeds");
      Files.writeString(seeds.resolve("seeds.txt"), HOME + "\tnutch.score=2.5\tnutch.fetchInterval=1\ttopic=birds\n"
          + HOME + "deep/two.html\tnutch.fetchInterval.fixed=86400000\n" + HOME + "missing.html\n");
      Maker m = new Maker(dir, c);
      m.run(new Injector(), dir.resolve("crawldb"), seeds);
      m.round("update");
      if (whole) {
        Thread.sleep(2100); // segments are named by seconds
        m.round("update");
        m.run(new DeduplicationJob(), dir.resolve("crawldb"));
        Thread.sleep(2100);
        m.round("parse");
        Thread.sleep(2100);
        m.round("generate");
      }
      m.dump(golden.resolve(k[0]));
      delete(seeds);
      if (k[2].endsWith("GzipKodec")) rename(dir, "GzipKodec", "GzipCodec");
      System.out.println(k[0] + " done");
    }
  }
}
