"""Model providers behind one small contract; the only package that imports pydantic-ai."""
