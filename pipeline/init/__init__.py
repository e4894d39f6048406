"""`concord init`: discovery of tables in a DVC repository, and the templates of a project."""
