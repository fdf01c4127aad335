"""Score free answers by a judge: rubrics, settings, the engine, its draws and their verdicts."""
