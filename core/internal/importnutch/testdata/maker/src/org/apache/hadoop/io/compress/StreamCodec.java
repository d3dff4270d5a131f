package org.apache.hadoop.io.compress;

import java.io.*;
import org.apache.hadoop.conf.Configured;

/** A codec of a pair of Java streams, for formats that Hadoop has only with its native library, which Maven does not bring. */
abstract class StreamCodec extends Configured implements CompressionCodec {
  abstract OutputStream pack(OutputStream to) throws IOException;
  abstract InputStream unpack(InputStream from) throws IOException;

  private class Out extends CompressionOutputStream {
    private OutputStream z;
    Out(OutputStream out) { super(out); }
    private OutputStream z() throws IOException {
      if (z == null) z = pack(new FilterOutputStream(out) {
        @Override public void write(byte[] b, int off, int len) throws IOException { out.write(b, off, len); }
        @Override public void close() {}
      });
      return z;
    }
    @Override public void write(int b) throws IOException { z().write(b); }
    @Override public void write(byte[] b, int off, int len) throws IOException { z().write(b, off, len); }
    @Override public void finish() throws IOException { z().close(); out.flush(); }
    @Override public void resetState() { z = null; }
  }

  private class In extends CompressionInputStream {
    private InputStream z;
    In(InputStream in) throws IOException { super(in); }
    private InputStream z() throws IOException { if (z == null) z = unpack(in); return z; }
    @Override public int read() throws IOException { return z().read(); }
    @Override public int read(byte[] b, int off, int len) throws IOException { return z().read(b, off, len); }
    @Override public void resetState() { z = null; }
  }

  @Override public CompressionOutputStream createOutputStream(OutputStream out) { return new Out(out); }
  @Override public CompressionOutputStream createOutputStream(OutputStream out, Compressor c) { return new Out(out); }
  @Override public Class<? extends Compressor> getCompressorType() { return null; }
  @Override public Compressor createCompressor() { return null; }
  @Override public CompressionInputStream createInputStream(InputStream in) throws IOException { return new In(in); }
  @Override public CompressionInputStream createInputStream(InputStream in, Decompressor d) throws IOException { return new In(in); }
  @Override public Class<? extends Decompressor> getDecompressorType() { return null; }
  @Override public Decompressor createDecompressor() { return null; }
}
