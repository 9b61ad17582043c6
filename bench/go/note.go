package main

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Note is a text to keep.
type Note struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              *NoteSpec   `json:"spec,omitempty"`
	Status            *NoteStatus `json:"status,omitempty"`
}

// NoteSpec is what the user writes.
type NoteSpec struct {
	Text string   `json:"text"`
	More []string `json:"more"`
}

// NoteStatus is what became of it.
type NoteStatus struct {
	Length int `json:"length"`
}

// NoteList is what a list of notes answers.
type NoteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Note `json:"items"`
}

// DeepCopyInto is what a generator would write.
func (n *Note) DeepCopyInto(out *Note) {
	*out = *n
	n.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if n.Spec != nil {
		out.Spec = &NoteSpec{Text: n.Spec.Text, More: slices.Clone(n.Spec.More)}
	}
	if n.Status != nil {
		status := *n.Status
		out.Status = &status
	}
}

// DeepCopyObject is what the scheme asks of every kind.
func (n *Note) DeepCopyObject() runtime.Object {
	out := new(Note)
	n.DeepCopyInto(out)
	return out
}

// DeepCopyObject is what the scheme asks of every kind.
func (l *NoteList) DeepCopyObject() runtime.Object {
	out := &NoteList{TypeMeta: l.TypeMeta, Items: make([]Note, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}

func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(group, &Note{}, &NoteList{})
	metav1.AddToGroupVersion(scheme, group)
	return nil
}
