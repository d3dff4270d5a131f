import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.solr.cloud.MiniSolrCloudCluster;
import org.apache.solr.embedded.JettyConfig;
import org.apache.solr.embedded.JettySolrRunner;

/**
 * One Solr in one process, for tests: HOME PORT [cloud]. HOME may hold configsets. Prints "ready" and its
 * address when it answers; ends when its standard input does.
 */
public final class SolrServer {
  public static void main(String[] args) throws Exception {
    Path home = Path.of(args[0]).toAbsolutePath();
    JettyConfig jetty = JettyConfig.builder().setContext("/solr").setPort(Integer.parseInt(args[1])).build();
    System.setProperty("solr.install.dir", home.toString());
    if (args.length > 2 && args[2].equals("cloud")) {
      MiniSolrCloudCluster cluster = new MiniSolrCloudCluster(1, Files.createTempDirectory(home, "cloud"), jetty);
      System.out.println("ready " + cluster.getJettySolrRunner(0).getBaseUrl());
    } else {
      Path xml = home.resolve("solr.xml");
      if (!Files.exists(xml)) {
        Files.writeString(xml, "<solr/>");
      }
      JettySolrRunner solr = new JettySolrRunner(home.toString(), jetty);
      solr.start();
      System.out.println("ready " + solr.getBaseUrl());
    }
    while (System.in.read() >= 0) {
      continue;
    }
    Runtime.getRuntime().halt(0);
  }
}
