"""The harness: experiments become runs, runs become records, records become tables, plots and one page."""
