"""Show and write results: tables, files of many forms, pages, and results that others check."""
