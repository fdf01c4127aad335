"""Read and write files: plain files, JSON, JSON lines, and files with a checksum."""
