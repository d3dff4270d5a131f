import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.reindex.ReindexPlugin;
import org.elasticsearch.transport.Netty4Plugin;

/**
 * One Elasticsearch node in one process, for tests: HOME PORT. Prints "ready" and its address when it
 * answers; ends when its standard input does.
 */
public final class ElasticsearchServer extends Node {
  private ElasticsearchServer(Settings settings) {
    super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "test"),
        List.of(Netty4Plugin.class, ReindexPlugin.class), false);
  }

  public static void main(String[] args) throws Exception {
    Path home = Path.of(args[0]);
    Files.createDirectories(home);
    Settings settings = Settings.builder()
        .put("path.home", home)
        .put("path.data", home.resolve("data"))
        .put("cluster.name", "test")
        .put("node.name", "test")
        .put("discovery.type", "single-node")
        .put("transport.type", "netty4")
        .put("http.type", "netty4")
        .put("http.host", "127.0.0.1")
        .put("http.port", args[1])
        .put("transport.host", "127.0.0.1")
        .put("transport.port", "0")
        .put("cluster.routing.allocation.disk.threshold_enabled", false)
        .build();
    ElasticsearchServer node = new ElasticsearchServer(settings);
    node.start();
    System.out.println("ready http://127.0.0.1:" + args[1]);
    while (System.in.read() >= 0) {
      continue;
    }
    Runtime.getRuntime().halt(0);
  }
}
