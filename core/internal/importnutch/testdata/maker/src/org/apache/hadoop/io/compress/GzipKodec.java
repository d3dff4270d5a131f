package org.apache.hadoop.io.compress;

import java.io.*;
import java.util.zip.*;

/** SequenceFile refuses every GzipCodec without the native library, so this one has another name, which Maker changes in the files. */
public class GzipKodec extends StreamCodec {
  @Override OutputStream pack(OutputStream to) throws IOException { return new GZIPOutputStream(to); }
  @Override InputStream unpack(InputStream from) throws IOException { return new GZIPInputStream(from); }
  @Override public String getDefaultExtension() { return ".gz"; }
}
