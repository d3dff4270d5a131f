import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.common.utils.Time;

/**
 * One Kafka broker that is its own controller, for tests: HOME PORT. Topics are made when they are
 * asked for. Prints "ready" and its address when it answers; ends when its standard input does.
 */
public final class KafkaServer {
  public static void main(String[] args) throws Exception {
    Path home = Path.of(args[0]).toAbsolutePath();
    int port = Integer.parseInt(args[1]);
    int controller;
    try (ServerSocket free = new ServerSocket(0)) {
      controller = free.getLocalPort();
    }
    Properties p = new Properties();
    p.put("process.roles", "broker,controller");
    p.put("node.id", "1");
    p.put("controller.quorum.voters", "1@127.0.0.1:" + controller);
    p.put("listeners", "PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:" + controller);
    p.put("advertised.listeners", "PLAINTEXT://127.0.0.1:" + port);
    p.put("controller.listener.names", "CONTROLLER");
    p.put("log.dirs", home.resolve("logs").toString());
    p.put("auto.create.topics.enable", "true");
    p.put("offsets.topic.replication.factor", "1");
    p.put("offsets.topic.num.partitions", "1");
    p.put("num.partitions", "1");
    Path conf = home.resolve("kafka.properties");
    try (var out = Files.newOutputStream(conf)) {
      p.store(out, null);
    }
    if (!Files.exists(home.resolve("logs").resolve("meta.properties"))) {
      Exit.setExitProcedure((code, message) -> {
        if (code != 0) {
          throw new IllegalStateException(message);
        }
      });
      try {
        StorageTool.main(new String[] {"format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", conf.toString()});
      } catch (AssertionError end) {
        // It does not expect to live on after its exit.
      }
      Exit.resetExitProcedure();
    }
    new KafkaRaftServer(KafkaConfig.fromProps(p), Time.SYSTEM).startup();
    System.out.println("ready 127.0.0.1:" + port);
    while (System.in.read() >= 0) {
      continue;
    }
    Runtime.getRuntime().halt(0);
  }
}
