"""Show scores: tables, records, dashboards and the report."""
