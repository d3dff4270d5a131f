package org.apache.hadoop.io.compress;

import com.github.luben.zstd.*;
import java.io.*;

/** Stands before Hadoop's class of this name; the format is the same, a Zstandard frame. */
public class ZStandardCodec extends StreamCodec {
  @Override OutputStream pack(OutputStream to) throws IOException { return new ZstdOutputStream(to); }
  @Override InputStream unpack(InputStream from) throws IOException { return new ZstdInputStream(from); }
  @Override public String getDefaultExtension() { return ".zst"; }
}
