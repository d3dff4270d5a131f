// Package hadoop reads what Hadoop's Java libraries write to local disks: SequenceFiles of versions 1 to 6 (plain, record-
// compressed and block-compressed), the data files of MapFiles, the checksums beside them, and Writables.
//
// It owns the formats as the classes of org.apache.hadoop.io define them; there is no other specification. It must not know what
// the records mean: whose classes they are is the caller's. It only reads. Every length that a file states is compared with what
// the file has, or grows a buffer as bytes really come, so that damaged files cost no memory; limits are in Options.
//
// A File is used by one goroutine at a time.
package hadoop
